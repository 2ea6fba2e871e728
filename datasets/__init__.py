"""One file per data set. Folders next to them hold downloaded data and are not part of the code."""
