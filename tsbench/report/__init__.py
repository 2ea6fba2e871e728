"""From records to tables, statistics, figures and the page; ``tsbench.report()`` makes a table."""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """Importing this package binds ``tsbench.report`` to it, so the package is the function too."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """A table as a data frame; see ``tsbench.report.python.report``."""
        from tsbench.report.python import report

        return report(*args, **options)


sys.modules[__name__].__class__ = _Callable
