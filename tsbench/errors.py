"""The one error that is for the user to fix: one or two lines, exit code 2, no traceback."""

import errno


class UserError(Exception):
    """What is wrong, and what to do next."""


class NotHere(UserError):
    """A source was fine but does not hold what was looked for."""


def describe(error: BaseException) -> str:
    """An error as one line, whatever its own text does.

    >>> describe(ValueError("two\\nlines"))
    'ValueError: two lines'
    """
    try:
        text = " ".join(str(error).split()).encode(errors="backslashreplace").decode()
    except Exception:
        text = "its message cannot be shown"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def os_error(error: OSError) -> str:
    """What the system refused, in words."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None and error.errno == errno.ENOENT:
        return f"{reason}: was the working directory deleted?"
    return reason if error.filename is None else f"'{error.filename}': {reason}"
