"""``python -m tsbench``, and the program itself: Ctrl-C is quiet from beginning to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

SOON = 0.05


def main() -> None:
    """Import and run the program."""
    sys.unraisablehook = interrupt_again
    try:
        from tsbench.cli.main import main as program

        program()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the worker server is left to be ended


def interrupt_again(unraisable: Any) -> None:
    """Python drops a Ctrl-C that arrives while it clears up an object; repeat it a moment later."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(SOON, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    main()
