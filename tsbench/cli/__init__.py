"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

import gc

gc.set_threshold(100_000)  # modules leave no garbage; to look for it takes an eighth of a start
