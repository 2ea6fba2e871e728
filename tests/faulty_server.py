"""A local HTTP server that serves files with faults, for testing the downloader."""

from __future__ import annotations

import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FaultyServer:
    """Serves ``files``; ``faults[path]`` is a list of faults, one used up a request.

    Faults: ``500``, ``404``, ``cut`` (half of the body, then the line drops), ``html`` (a web
    page), ``slow`` (small pieces), ``hang`` (no byte for a second), ``held`` (no byte until
    ``release`` is set), ``other`` (other bytes).
    """

    def __init__(self, files: dict[str, bytes], ranges: bool = True) -> None:
        self.files = files
        self.ranges = ranges
        self.faults: dict[str, list[str]] = {}
        self.requests: Counter[str] = Counter()
        self.range_headers: list[str] = []
        self.bytes_sent = 0
        self.delay = 0.01
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self) -> FaultyServer:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.lstrip("/")
        self.requests[path] += 1
        waiting = self.faults.get(path, [])
        fault = waiting.pop(0) if waiting else ""
        body = self.files.get(path)
        if fault.isdigit() or body is None:
            handler.send_response(int(fault) if fault else 404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if fault == "html":
            body = b"<html><body>Please log in</body></html>"
        if fault == "other":
            body = body[:2] + bytes(len(body) - 2)
        start = 0
        wanted = handler.headers.get("Range")
        if wanted:
            self.range_headers.append(wanted)
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{len(body)}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            handler.send_response(200)
        rest = body[start:]
        handler.send_header("Content-Type", "text/html" if fault == "html" else "application/zip")
        handler.send_header("Content-Length", str(len(rest)))
        handler.send_header("ETag", f'"{path}-1"')
        handler.end_headers()
        self.send_body(handler, rest, fault)

    def send_body(self, handler: BaseHTTPRequestHandler, rest: bytes, fault: str) -> None:
        try:
            if fault == "hang":
                time.sleep(1)
            if fault == "held":
                self.release.wait(60)
            if fault == "cut":
                handler.wfile.write(rest[: len(rest) // 2])
                self.bytes_sent += len(rest) // 2
                handler.close_connection = True
                return
            pieces = 200 if fault == "slow" else 1
            size = max(1, -(-len(rest) // pieces))
            for at in range(0, len(rest), size):
                handler.wfile.write(rest[at : at + size])
                handler.wfile.flush()
                self.bytes_sent += len(rest[at : at + size])
                if fault == "slow":
                    time.sleep(self.delay)
        except OSError:
            handler.close_connection = True
