"""The rules of the benchmark, each exactly once."""
