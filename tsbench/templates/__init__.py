"""What ``tsbench new-method`` and ``tsbench new-dataset`` write."""
