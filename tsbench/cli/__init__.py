"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

import gc

gc.set_threshold(100_000)  # loading modules leaves no garbage; looking for it is an eighth of a start
