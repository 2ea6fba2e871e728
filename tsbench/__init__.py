"""tsbench: the benchmark suite for time-series class-incremental learning."""

__version__ = "0.1.0"
