"""Choosing hyper-parameters on the validation stream."""
