#!/usr/bin/python3
"""terminal.py COMMAND... - run a command on a terminal of its own, by a script.

The script comes on standard input, a line each: 'expect TEXT' waits until the
terminal has shown that, 'type TEXT' types it; \\n is return, \\x1a is Ctrl-Z; 'pause SECONDS'
does nothing for a while.  Exits with the command's status; 99 when something expected did not
come in 20 seconds.
"""
import os
import pty
import select
import signal
import sys
import time

PATIENCE = 20


class Terminal:
    def __init__(self, command):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvp(command[0], command)

    def read(self, seconds):
        """What comes within so much time; nothing when it is over."""
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
        os.write(self.fd, text.encode())

    def end(self):
        while self.read(PATIENCE):
            pass
        signal.alarm(PATIENCE)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def pause(seconds):
    time.sleep(float(seconds))


def main():
    script = [line.rstrip("\n").split(" ", 1) for line in sys.stdin]
    terminal = Terminal(sys.argv[1:])
    for verb, text in script:
        text = text.encode().decode("unicode_escape")
        {"expect": terminal.expect, "type": terminal.type, "pause": pause}[verb](text)
    sys.exit(terminal.end())


main()
