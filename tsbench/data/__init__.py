"""Cards, downloads, prepared arrays on disk, splits, class orders and task streams."""
