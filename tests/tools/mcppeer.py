"""mcppeer - starts 'strata mcp' and talks to it as a client of MCP does, for tests.

PYTHONPATH=tests/tools python3 - PROGRAM [ARGUMENT...] <<'END'
from mcppeer import *
server = Server()
server.begin()
print(server.tool('head')['id'])
END

The command line of the script is the command of the server.  Each result of a tool is compared with
the output schema that the server has declared.
"""
import json
import os
import select
import subprocess
import sys
import time

SECONDS = 20  # how long to wait for a message


class Refused(Exception):
    """The server has replied with an error of the protocol."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code = error["code"]
        self.message = error["message"]


class Failed(Exception):
    """A tool has failed."""


def is_type(value, name):
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool,
             "array": list, "object": dict, "null": type(None)}
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, kinds[name])


def check(value, schema, where="result"):
    """Compare a value with the part of JSON Schema that strata uses."""
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    assert not names or any(is_type(value, name) for name in names), f"{where}: {value!r} is no {names}"
    if isinstance(value, dict) and "properties" in schema:
        for key in schema.get("required", []):
            assert key in value, f"{where}: no '{key}'"
        for key, member in value.items():
            known = schema["properties"]
            assert key in known or schema.get("additionalProperties", True), f"{where}: unknown '{key}'"
            check(member, known.get(key, {}), f"{where}.{key}")
    if isinstance(value, list):
        for at, item in enumerate(value):
            check(item, schema.get("items", {}), f"{where}[{at}]")


class Server:
    def __init__(self, *arguments, **how):
        self.errors = open("mcp.stderr", "w+b")
        self.process = subprocess.Popen([*sys.argv[1:], *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, **how)
        self.buffer = b""
        self.last_id = 0
        self.notifications = []
        self.replies = {}
        self.schemas = {}

    def send(self, message):
        if not isinstance(message, bytes):
            message = json.dumps(message).encode() + b"\n"
        self.process.stdin.write(message)
        self.process.stdin.flush()

    def ask(self, method, params=None):
        """Send a request, and return its id."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.last_id

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def message(self, seconds=SECONDS):
        """Returns the next message, or None at the end of the stream."""
        end = time.monotonic() + seconds
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no message within {seconds} s")
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                assert not self.buffer, f"half of a message: {self.buffer[:200]!r}"
                return None
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", message
        return message

    def reply(self, number, seconds=SECONDS):
        """Returns the result of a request.  Other messages that come first are kept."""
        while number not in self.replies:
            message = self.message(seconds)
            assert message is not None, "the server has ended"
            if "method" in message:
                self.notifications.append(message)
            else:
                assert message.get("id") not in self.replies, f"a second reply: {message}"
                self.replies[message.get("id")] = message
        reply = self.replies.pop(number)
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["result"]

    def call(self, method, params=None, seconds=SECONDS):
        return self.reply(self.ask(method, params), seconds)

    def begin(self, version="2025-11-25"):
        result = self.call("initialize", {
            "protocolVersion": version, "capabilities": {"roots": {"listChanged": True}},
            "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        self.tools = {tool["name"]: tool for tool in self.call("tools/list")["tools"]}
        return result

    def start_tool(self, name, /, token=None, **arguments):
        params = {"name": name, "arguments": arguments}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.ask("tools/call", params)

    def result(self, name, number, seconds=SECONDS):
        """Returns the document that a tool has given, after a check of its schema."""
        result = self.reply(number, seconds)
        self.text = result["content"][0]["text"]
        if result["isError"]:
            assert "structuredContent" not in result
            raise Failed(self.text)
        check(result["structuredContent"], self.tools[name]["outputSchema"], name)
        return result["structuredContent"]

    def tool(self, name, /, **arguments):
        return self.result(name, self.start_tool(name, **arguments))

    def fails(self, name, /, **arguments):
        """Returns the text with which a tool fails."""
        try:
            self.tool(name, **arguments)
        except Failed as failed:
            return str(failed)
        raise AssertionError(f"{name} did not fail")

    def fails_with(self, params):
        """Returns the text with which a call of a tool fails, whose parameters may be of any form."""
        result = self.call("tools/call", params)
        assert result["isError"], result
        return result["content"][0]["text"]

    def refuses(self, method, params=None):
        """Returns the code of the error of the protocol."""
        try:
            self.call(method, params)
        except Refused as refused:
            return refused.code
        raise AssertionError(f"{method} was not refused")

    def close(self):
        """Hang up, and return the exit status."""
        self.process.stdin.close()
        while self.message() is not None:
            pass
        return self.process.wait(SECONDS)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode()
