"""The one error that is the user's to mend: said in a line or two, exit code 2, no traceback."""


class UserError(Exception):
    """What is wrong, and what to do next."""


class NotHere(UserError):
    """A source was fine but does not hold what was looked for."""
