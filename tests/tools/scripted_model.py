#!/usr/bin/python3
"""scripted_model.py PORT_FILE LOG - stands for a language model, for tests with real agents.

The server listens on loopback.  It supports the part of OpenAI's Responses API that the Codex CLI
needs, with server-sent events.  Each line of the prompt is a shell command, or a call of a tool of
an MCP server: @NAMESPACE TOOL ARGUMENTS, where the arguments are JSON.  The server asks the agent to
run the first line.  When the agent has sent the output, the server asks for the next line.  After
the last line, the answer is "finished".

When the server listens, it writes its port into PORT_FILE.  It adds lines of JSON to LOG: for each
output that an agent sends {"command", "output"}, and at the beginning of a script {"tools"}, the
tools of MCP servers that the agent offers, each as "NAMESPACE TOOL".
"""
import http.server
import json
import os
import sys


def script_of(conversation):
    """Returns the lines of the last prompt, and the outputs that the agent has sent after it."""
    lines, outputs = [], []
    for item in conversation:
        if item.get("role") == "user":
            text = "".join(part.get("text", "") for part in item.get("content", []))
            lines, outputs = [line for line in text.splitlines() if line.strip()], []
        elif item.get("type") == "function_call_output":
            outputs.append(item["output"])
    return lines, outputs


def call(number, line):
    item = {"type": "function_call", "id": f"call-item-{number}", "call_id": f"call-{number}"}
    if line.startswith("@"):
        item["namespace"], item["name"], item["arguments"] = line[1:].split(" ", 2)
    else:
        item |= {"name": "exec_command", "arguments": json.dumps({"cmd": line})}
    return item


def tools_of_servers(tools):
    return [f"{group['name']} {tool['name']}" for group in tools if group["type"] == "namespace"
            for tool in group["tools"]]


def message(text):
    return {
        "type": "message",
        "id": "last",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


class Model(http.server.BaseHTTPRequestHandler):
    log = None

    def log_message(self, *_):
        pass

    def event(self, kind, **members):
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())

    def note(self, **members):
        self.log.write(json.dumps(members) + "\n")
        self.log.flush()

    def answer(self, conversation, tools):
        lines, outputs = script_of(conversation)
        number = len(outputs)
        if outputs:
            self.note(command=lines[number - 1], output=outputs[-1])
        else:
            self.note(tools=tools_of_servers(tools))
        return call(number, lines[number]) if number < len(lines) else message("finished")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        item = self.answer(request["input"], request.get("tools", []))
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.event("response.created", response={"id": item["id"]})
        self.event("response.output_item.done", output_index=0, item=item)
        self.event("response.completed", response={"id": item["id"], "usage": usage})

    def do_GET(self):
        """Answer with an empty list of models."""
        text = b'{"object": "list", "data": [], "models": []}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main():
    port_file, log = sys.argv[1:]
    Model.log = open(log, "a", encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    with open(port_file + ".new", "w", encoding="utf-8") as out:
        print(server.server_port, file=out)
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


main()
