#!/usr/bin/python3
"""terminal.py COMMAND... - run a command on a new terminal, with input from a script.

The script is read from standard input, and has one step on each line.  'expect TEXT'
waits until the terminal has shown the text.  'type TEXT' types the text after a short pause.
\\n is Return, and \\x1a is Ctrl-Z.  Exits with the command's status, or with 99 if an expected
text is not shown within 20 seconds.
"""
import os
import pty
import select
import signal
import sys
import time

PATIENCE = 20
PERSON = 0.2


class Terminal:
    def __init__(self, command):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvp(command[0], command)

    def read(self, seconds):
        """Returns the next text, or "" if none comes in this time or the command has ended."""
        if not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return ""
        try:
            return os.read(self.fd, 4096).decode(errors="replace")
        except OSError:
            return ""

    def expect(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.shown:
            more = self.read(end - time.monotonic())
            if not more:
                print(f"no {text!r}, but {self.shown!r}", file=sys.stderr)
                sys.exit(99)
            self.shown += more
        self.shown = self.shown.split(text, 1)[1]

    def type(self, text):
        # A program that has just opened the terminal may discard input until it is ready.
        time.sleep(PERSON)
        os.write(self.fd, text.encode())

    def kill(self, *_):
        print("it does not end", file=sys.stderr)
        os.kill(self.pid, signal.SIGKILL)
        sys.exit(99)

    def end(self):
        while self.read(PATIENCE):
            pass
        signal.signal(signal.SIGALRM, self.kill)
        signal.alarm(PATIENCE)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    script = [line.rstrip("\n").split(" ", 1) for line in sys.stdin]
    terminal = Terminal(sys.argv[1:])
    for verb, text in script:
        text = text.encode().decode("unicode_escape")
        {"expect": terminal.expect, "type": terminal.type}[verb](text)
    sys.exit(terminal.end())


main()
