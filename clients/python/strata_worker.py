"""A client for ``strata worker``, which gives access to files under a policy.

    with Worker.spawn(root="/home/me/project") as worker:
        text = worker.read("/home/me/project/README").decode()
        worker.edit("/home/me/project/README", "teh", "the")

Only the standard library is needed.  A ``Worker`` is used by one thread.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import subprocess
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type, Union

MAX_FRAME = 1 << 20
"""The maximum number of bytes of JSON in one frame, in both directions."""

Path = Union[str, bytes, "os.PathLike[str]"]


class WorkerError(Exception):
    """An error reply.

    ``code`` is ``unimplemented``, ``policy_denied``, ``io``, ``protocol`` or
    ``internal``; ``errno`` is the name of the error for ``io``, such as
    ``"ENOENT"``.
    """

    def __init__(self, code: str, message: str, errno: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.errno = errno


class PolicyDenied(WorkerError):
    """The policy denied a request.  The message names the rule, and a way to allow the request."""


class ConnectionEnded(Exception):
    """The worker has ended the connection, or has violated the protocol."""


@dataclass(frozen=True)
class Match:
    """A line that ``grep`` found.  ``line`` counts from 1."""

    path: str
    line: int
    text: str
    cut: bool = False


@dataclass(frozen=True)
class Stat:
    """The result of ``stat``.  Links are not followed."""

    size: int
    is_dir: bool
    is_symlink: bool
    mode: int
    mtime: int


@dataclass(frozen=True)
class Listing:
    """The result of ``glob`` or ``grep``.

    ``truncated`` is true if items are missing, because the reply would be too large or the
    caller's maximum was reached.  ``skipped`` is the number of directories and files that could
    not be read.
    """

    items: Sequence[Any]
    truncated: bool
    skipped: int

    def __iter__(self) -> Any:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def _name(path: Path) -> str:
    """Returns a path as text.  A byte that is not UTF-8 becomes a lone surrogate."""
    return os.fsdecode(path)


class Worker:
    """A connection to one worker."""

    def __init__(self, sock: socket.socket, process: Optional["subprocess.Popen[bytes]"] = None):
        """Take over a connected socket.  ``process`` is the worker if it is a child."""
        self._sock = sock
        self._process = process
        self._waiting: Dict[Any, Dict[str, Any]] = {}
        self._next_id = 1

    @classmethod
    def spawn(
        cls,
        root: Optional[Path] = None,
        policy: Optional[Path] = None,
        command: Sequence[str] = ("strata", "worker"),
        options: Sequence[str] = (),
        **popen: Any,
    ) -> "Worker":
        """Start a worker as a child.  ``popen`` holds further arguments of ``subprocess.Popen``."""
        ours, theirs = socket.socketpair()
        args = [*command, "--fd", str(theirs.fileno()), *options]
        if root is not None:
            args += ["--root", _name(root)]
        if policy is not None:
            args += ["--policy", _name(policy)]
        try:
            process = subprocess.Popen(args, pass_fds=[theirs.fileno()], **popen)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(ours, process)

    @classmethod
    def connect(cls, path: Path) -> "Worker":
        """Connect to a worker, or a pool of them, that listens on a socket."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(path if isinstance(path, (str, bytes)) else os.fspath(path))
        except BaseException:
            sock.close()
            raise
        return cls(sock)

    # --- the connection

    def close(self) -> Optional[int]:
        """End the connection.  Returns the exit status of the worker if it is a child, else None."""
        self._sock.close()
        return self._process.wait() if self._process else None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _receive_exactly(self, size: int) -> bytes:
        parts: List[bytes] = []
        while size:
            part = self._sock.recv(min(size, 1 << 16))
            if not part:
                raise ConnectionEnded("the worker has ended the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, request: Dict[str, Any]) -> None:
        """Send one request unchanged.  The caller may set its ``id``."""
        payload = json.dumps(request, separators=(",", ":")).encode("ascii")
        if len(payload) > MAX_FRAME:
            raise ValueError(f"a request of {len(payload)} bytes; {MAX_FRAME} are allowed")
        self._sock.sendall(struct.pack(">I", len(payload)) + payload)

    def receive(self) -> Dict[str, Any]:
        """Wait for the next reply to any request.  An error reply is returned and not raised."""
        (size,) = struct.unpack(">I", self._receive_exactly(4))
        if size > MAX_FRAME:
            raise ConnectionEnded(f"a reply of {size} bytes")
        reply = json.loads(self._receive_exactly(size))
        if not isinstance(reply, dict):
            raise ConnectionEnded("a reply that is no object")
        return reply

    @staticmethod
    def check(reply: Dict[str, Any]) -> Dict[str, Any]:
        """Returns the reply, or raises its error."""
        if reply.get("kind") != "error":
            return reply
        code = reply.get("code", "internal")
        kind = PolicyDenied if code == "policy_denied" else WorkerError
        raise kind(code, reply.get("message", ""), reply.get("errno"))

    def call(self, kind: str, **fields: Any) -> Dict[str, Any]:
        """Send a request without an id and wait for its reply."""
        self.send({"kind": kind, **fields})
        while True:
            reply = self.receive()
            if "id" not in reply:
                return self.check(reply)
            self._waiting[reply["id"]] = reply

    # --- several requests at a time

    def start(self, kind: str, **fields: Any) -> int:
        """Send a request without waiting.  Returns its id, for ``finish`` and ``cancel``."""
        number = self._next_id
        self._next_id += 1
        self.send({"kind": kind, **fields, "id": number})
        return number

    def finish(self, number: int) -> Dict[str, Any]:
        """Wait for the reply to a request that ``start`` has sent."""
        while number not in self._waiting:
            reply = self.receive()
            if "id" in reply:
                self._waiting[reply["id"]] = reply
        return self.check(self._waiting.pop(number))

    def cancel(self, number: int) -> None:
        """Stop a request that ``start`` has sent.  Its ``finish`` then raises ``ECANCELED``."""
        self.send({"kind": "cancel", "id": number})

    # --- requests

    def ping(self) -> None:
        """Wait until the worker answers."""
        self.call("ping")

    def shutdown(self) -> None:
        """Ask the worker to end after it has answered the requests sent before."""
        self.call("shutdown")

    def read_piece(
        self, path: Path, offset: int = 0, max_bytes: Optional[int] = None
    ) -> "tuple[bytes, bool]":
        """Returns up to ``max_bytes`` from ``offset`` on, and true if a frame could not hold them."""
        reply = self.call(
            "read", path=_name(path), max_bytes=max_bytes, offset=offset, encoding="base64"
        )
        return base64.b64decode(reply["content"]), bool(reply.get("truncated"))

    def read(self, path: Path) -> bytes:
        """Returns the whole content of a file, with as many requests as necessary."""
        parts: List[bytes] = []
        offset = 0
        more = True
        while more:
            part, more = self.read_piece(path, offset)
            parts.append(part)
            offset += len(part)
            more = more and bool(part)
        return b"".join(parts)

    def write(self, path: Path, content: bytes) -> int:
        """Replace or make a file in one step.  Returns the number of bytes written."""
        text = base64.b64encode(content).decode("ascii")
        reply = self.call("write", path=_name(path), content=text, encoding="base64")
        return int(reply["bytes_written"])

    def edit(self, path: Path, old: str, new: str, replace_all: bool = False) -> int:
        """Replace the first occurrence of a text, or all.  Returns the number of replacements."""
        reply = self.call(
            "edit", path=_name(path), old_string=old, new_string=new, replace_all=replace_all
        )
        return int(reply["replacements"])

    def glob(self, pattern: str, root: Path, no_ignore: bool = False) -> Listing:
        """Returns the sorted paths below ``root`` that match a pattern."""
        reply = self.call("glob", pattern=pattern, root=_name(root), no_ignore=no_ignore)
        return _listing(reply, reply["paths"])

    def grep(
        self,
        pattern: str,
        root: Path,
        include: Optional[str] = None,
        max_matches: Optional[int] = None,
        no_ignore: bool = False,
    ) -> Listing:
        """Returns a ``Match`` for each line below ``root`` that matches a regular expression."""
        reply = self.call(
            "grep",
            pattern=pattern,
            root=_name(root),
            include=include,
            max_matches=max_matches,
            no_ignore=no_ignore,
        )
        return _listing(reply, [Match(**match) for match in reply["matches"]])

    def stat(self, path: Path) -> Stat:
        """Returns the type, size, mode and time of a path."""
        reply = self.call("stat", path=_name(path))
        return Stat(*(reply[key] for key in ("size", "is_dir", "is_symlink", "mode", "mtime")))

    def get_env(self, *names: str) -> List[Optional[str]]:
        """Returns variables of the worker's environment, with None for each unset variable."""
        values: List[Optional[str]] = self.call("get_env", names=list(names))["values"]
        return values


def _listing(reply: Dict[str, Any], items: Sequence[Any]) -> Listing:
    return Listing(items, bool(reply.get("truncated")), int(reply.get("skipped", 0)))
