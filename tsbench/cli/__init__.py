"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""
