"""agentpeer - starts a query agent and sends requests to it, for tests.

PYTHONPATH=tests/tools python3 - PROGRAM [ARGUMENT...] <<'END'
from agentpeer import *
agent = Agent()
assert agent.call('agent_info')['protocol_version'] == '1'
assert agent.close() == 0
END

The command line of the script is the command of the agent.
"""
import json
import os
import select
import signal
import subprocess
import sys
import time

SECONDS = 20  # how long to wait for a reply
SANITIZED = bool(os.environ.get("SANITIZED"))  # the agent needs much memory for shadows of its own


# A request that takes longer than any deadline, after the shell function 'endless'
ENDLESS = ("diff_snapshots", {"snap_a": "bk@1", "snap_b": "bk@2"})


class Refused(Exception):
    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


class Agent:
    """A running agent, and the connection to it."""

    def __init__(self, *arguments, **how):
        self.errors = open("agent.stderr", "w+b")
        self.process = subprocess.Popen(
            [*sys.argv[1:], *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, **how)
        self.buffer = b""
        self.last_id = 0

    def send(self, *requests):
        """Send requests.  Each is an object, or bytes that are sent unchanged."""
        for request in requests:
            if not isinstance(request, bytes):
                request = json.dumps(request).encode() + b"\n"
            self.process.stdin.write(request)
        self.process.stdin.flush()

    def ask(self, method, members=None, /, **params):
        """Send a request, and return its id."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": members or params})
        return self.last_id

    def line(self, seconds=SECONDS):
        """Returns the next line from the agent, or b'' at the end."""
        end = time.monotonic() + seconds
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError(f"no reply after {seconds} s")
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                assert not self.buffer, f"the last line has no end: {self.buffer[-200:]}"
                return b""
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def reply(self, seconds=SECONDS):
        """Returns the next reply as an object."""
        line = self.line(seconds)
        assert line, "the agent has ended: " + self.stderr()
        reply = json.loads(line)
        assert reply["jsonrpc"] == "2.0" and set(reply) in (
            {"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), line
        return reply

    def call(self, method, /, **params):
        """Send a request and return its result.  No other request may be pending."""
        number = self.ask(method, **params)
        reply = self.reply()
        assert reply["id"] == number, reply
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["result"]

    def code(self, request, seconds=SECONDS):
        """Send a request.  Returns the id of the reply, and its error code or 0."""
        self.send(request)
        reply = self.reply(seconds)
        return reply["id"], reply.get("error", {"code": 0})["code"]

    def alive(self):
        """Check that the agent answers a request."""
        assert self.call("agent_info")["protocol_version"] == "1"

    def silent(self, seconds=0.2):
        """Check that the agent sends nothing."""
        assert not self.buffer and not select.select([self.process.stdout], [], [], seconds)[0], \
            self.line()

    def workers(self):
        """Returns the ids of the processes that the agent has started."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]

    def busy(self):
        """Whether a process of the agent is running."""
        return any(process_state(pid) == "R" for pid in self.workers())

    def until_busy(self):
        """Wait until a process of the agent has run for some time, so that it is at work."""
        begin = {pid: process_ticks(pid) for pid in self.workers()}
        until(lambda: any(process_ticks(pid) > begin.get(pid, 0) + 2 for pid in self.workers()))

    def peak(self):
        """Returns the most memory that the agent or one of its processes has used, in bytes."""
        peaks = []
        for pid in (self.process.pid, *self.workers()):
            with open(f"/proc/{pid}/status") as file:
                peaks += [int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")]
        return max(peaks)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def end_input(self):
        self.process.stdin.close()

    def close(self, seconds=SECONDS):
        """End the input, check that the agent sends nothing more, and return its exit status."""
        self.end_input()
        assert self.line(seconds) == b""
        return self.process.wait(seconds)


def until(condition, seconds=SECONDS):
    """Wait until the condition holds.  Returns the time that this took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + seconds, "this never happens"
        time.sleep(0.01)
    return time.monotonic() - begin


def process_fields(pid):
    """Returns the fields of /proc/PID/stat from the state on.  They are those of a dead process
    when there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["X"] + ["0"] * 50


def process_state(pid):
    return process_fields(pid)[0]


def process_ticks(pid):
    """Returns the processor time of a process, in clock ticks."""
    fields = process_fields(pid)
    return int(fields[11]) + int(fields[12])


def gone(pid):
    """Whether a process has ended."""
    return process_state(pid) in "ZX"
