"""The published tables as CSV: see README.md beside this file for their sources."""
