"""``python -m tsbench``, and the program itself: Ctrl-C is quiet from beginning to end."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Import and run the program."""
    try:
        from tsbench.cli.main import main as program

        program()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the worker server is left to be ended


if __name__ == "__main__":
    main()
