#!/usr/bin/python3
"""scripted_model.py PORT_FILE LOG - a language model on loopback, for tests of real agents.

It speaks as much of OpenAI's Responses API (server-sent events) as the Codex CLI needs, and knows
nothing: the prompt is its script.  Each line of the prompt is a shell command, which the agent is
asked to run; the next line is its turn when the agent has sent back the output.  After the last
line the model says "finished".

PORT_FILE gets the number of the port once the model can be reached.  LOG gets a line of JSON for
each output that an agent sends back: {"command", "output"}.
"""
import http.server
import json
import os
import sys


def script_of(conversation):
    """The lines of the last prompt, and the outputs that the agent has sent since."""
    lines, outputs = [], []
    for item in conversation:
        if item.get("role") == "user":
            text = "".join(part.get("text", "") for part in item.get("content", []))
            lines, outputs = [line for line in text.splitlines() if line.strip()], []
        elif item.get("type") == "function_call_output":
            outputs.append(item["output"])
    return lines, outputs


def call(number, command):
    return {
        "type": "function_call",
        "id": f"call-item-{number}",
        "call_id": f"call-{number}",
        "name": "exec_command",
        "arguments": json.dumps({"cmd": command}),
    }


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

    def answer(self, conversation):
        lines, outputs = script_of(conversation)
        number = len(outputs)
        if outputs:
            self.log.write(json.dumps({"command": lines[number - 1], "output": outputs[-1]}) + "\n")
            self.log.flush()
        return call(number, lines[number]) if number < len(lines) else message("finished")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        item = self.answer(request["input"])
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.event("response.created", response={"id": item["id"]})
        self.event("response.output_item.done", output_index=0, item=item)
        self.event("response.completed", response={"id": item["id"], "usage": usage})

    def do_GET(self):
        """The list of models."""
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
