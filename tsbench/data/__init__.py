"""Data sets: cards, downloads, and prepared arrays on disk."""
