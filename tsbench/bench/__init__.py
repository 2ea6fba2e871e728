"""Run specs and records, one run as a function, the results store, executors."""
