"""Processes of a command under test, from Linux's /proc."""

from __future__ import annotations

from pathlib import Path

SERVER = "tsbench.executors.workers import serve"


def children(pid: int) -> list[int]:
    """Processes that a process has started, those apart that have ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(path.parent.name))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_with(text: str) -> list[int]:
    """Running processes with a text in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and alive(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def servers(pid: int) -> list[int]:
    """The worker server of a command, while it runs."""
    found = []
    for child in children(pid):
        try:
            if SERVER in Path(f"/proc/{child}/cmdline").read_text():
                found.append(child)
        except OSError:
            continue
    return found


def workers(pid: int) -> list[int]:
    """The worker processes of a command, while it and its server run."""
    return [worker for server in servers(pid) for worker in children(server)]
