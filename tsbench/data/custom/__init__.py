"""People's own data sets."""
