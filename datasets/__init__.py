"""One file a data set. Folders beside them hold downloaded data and are not part of the code."""
