"""Worker processes: a fresh one for each run, forked from a server that has torch imported.

Nothing that ran before can touch a result, a crash ends one run only, and starting takes
milliseconds. ``multiprocessing`` has a fork server too, but it imports from the working directory,
needs a socket in a temporary folder (whose path may be too long), imports the main program, and
cannot say that it was killed.

A worker leads a process group of its own, which is ended with it: what a method starts does not
outlive the run. Workers end with the process that started the server, and with the server.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

GRACE = 5.0
"""Seconds that the server may take to end."""

Call = tuple[Callable[..., None], tuple[Any, ...]]
"""A function of a module, and its arguments after the worker's connection."""


def python_command(entry: str, *arguments: str) -> list[str]:
    """The command that calls ``module:function`` in a new Python that imports what this one does.

    Its import path is replaced before anything is imported: it would begin with the working
    directory, where a file may have the name of a module.
    """
    module, _, function = entry.partition(":")
    path = [folder or str(Path.cwd()) for folder in sys.path]
    code = f"import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", code, *arguments]


class ServerLost(Exception):
    """The server was ended from outside, and the worker with it."""


class Worker:
    """A process that calls one function; it sends messages over ``connection``."""

    def __init__(self, connection: Connection, reports: Connection) -> None:
        self.connection = connection
        self.reports: Any = reports
        """The server sends the process id of the worker, then its exit code."""
        self.pid: int | None = None

    def exit_code(self) -> int | None:
        """Minus the signal that ended it; None while it runs. Raises ``ServerLost``."""
        try:
            while self.reports.poll():
                if self.pid is not None:
                    return int(self.reports.recv())
                self.pid = self.reports.recv()
        except (EOFError, OSError) as error:
            raise ServerLost from error
        return None

    def end(self) -> None:
        """End the worker, if it still runs, and all processes that it started."""
        with contextlib.suppress(ServerLost):
            self.exit_code()  # learns the process id
        if self.pid is not None:
            _end_group(self.pid)
        self.connection.close()  # a worker that is only starting ends when it notices
        self.reports.close()


class WorkerServer:
    """The process that forks workers, seen from the one that wants them."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                python_command("tsbench.executors.workers:serve", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent, which decides what to end
            )
        atexit.register(self.close)

    def start(self, call: Call) -> Worker:
        """A new worker for a call; raises OSError if the server is gone."""
        connection, theirs = Pipe()
        reports, servers = Pipe(duplex=False)
        with theirs, servers:
            socket.send_fds(self.control, [b"+"], [theirs.fileno(), servers.fileno()])
        connection.send(call)
        return Worker(connection, reports)

    def close(self) -> None:
        """End the server and its workers."""
        atexit.unregister(self.close)
        self.control.close()
        self.process.terminate()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class SpawnedWorker(Worker):
    """A worker where there is no fork, on Windows: a new Python for each run. Not tested."""

    def __init__(self, call: Call) -> None:
        self.connection, theirs = Pipe()
        function, arguments = call
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=function, args=(theirs, *arguments))
        self.process.start()
        self.reports = self.process.sentinel

    def exit_code(self) -> int | None:
        """Minus the signal that ended it; None while it runs."""
        return self.process.exitcode

    def end(self) -> None:
        """End the worker, if it still runs."""
        self.process.kill()
        self.connection.close()


_server: WorkerServer | None = None


def start_worker(function: Callable[..., None], *arguments: Any) -> Worker:
    """A new worker, which calls a function with its connection and the arguments."""
    call = function, arguments
    if sys.platform == "win32":
        return SpawnedWorker(call)
    try:
        return worker_server().start(call)
    except OSError:  # the server has ended
        return worker_server(new=True).start(call)


def worker_server(new: bool = False) -> WorkerServer:
    """The server of this process, started if there is none; ``new`` replaces it."""
    global _server
    if new and _server is not None:
        _server.close()
        _server = None
    if _server is None:
        _server = WorkerServer()
    return _server


def serve() -> None:
    """Body of the server: fork a worker for each pair of connections that arrives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    from tsbench.executors.local import import_torch

    control = socket.socket(fileno=int(sys.argv[1]))
    with while_wanted(control):
        import_torch()
    wakeup, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: control.shutdown(socket.SHUT_RDWR))
    workers: dict[int, Connection] = {}
    while True:
        ready = wait([control, wakeup])
        if wakeup in ready:
            os.read(wakeup, 4096)
            _report_ended(workers)
        if control not in ready:
            continue
        try:
            _, handles, _, _ = socket.recv_fds(control, 1, 2)
        except OSError:
            handles = []
        if not handles:  # the parent has ended, or wants us to
            break
        for handle in handles:
            os.set_inheritable(handle, False)
        connection, reports = (Connection(handle) for handle in handles)
        pid = os.fork()
        if pid == 0:
            control.close()
            for inherited in (reports, *workers.values()):
                inherited.close()
            _work(connection)
        connection.close()
        with contextlib.suppress(OSError):  # as the worker does: whoever is first
            os.setpgid(pid, pid)
        workers[pid] = reports
        _send(reports, pid)
    for pid in workers:
        _end_group(pid)


@contextlib.contextmanager
def while_wanted(control: socket.socket) -> Iterator[None]:
    """Inside, which may take seconds, this process ends with the one that started it."""
    done = threading.Event()

    def watch() -> None:
        other_side = select.poll()
        other_side.register(control, 0)  # reports only that it is closed
        while not done.is_set():
            if other_side.poll(100):
                os._exit(0)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()  # before anything is forked


def _report_ended(workers: dict[int, Connection]) -> None:
    """Send the exit codes of workers that have ended, and end what they started."""
    for pid, reports in list(workers.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _end_group(pid)
            _send(reports, os.waitstatus_to_exitcode(status))
            workers.pop(pid).close()


def _send(connection: Connection, message: Any) -> None:
    with contextlib.suppress(OSError):  # nobody waits for it any more
        connection.send(message)


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _work(connection: Connection) -> None:
    """A worker, from its fork to its end."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        function, arguments = connection.recv()
        threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
        function(connection, *arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)  # threads of the method are not waited for


def _end_with_parent(connection: Connection) -> None:
    """The parent sends nothing more: what arrives is its end."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
    os.killpg(0, signal.SIGKILL)
