"""Our own runs, as `tsbench run` wrote them: see the README of the project for their commands."""
