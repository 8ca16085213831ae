#!/usr/bin/python3
"""terminal.py COMMAND... - run a command on a terminal of its own, by a script.

The script comes on standard input, a line each: 'expect TEXT' waits until the
terminal has shown that, 'type TEXT' types it, not in the same instant; \\n is return,
\\x1a is Ctrl-Z.  Exits with the command's status; 99 when something expected did not come in
20 seconds.
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
        # Who has just taken the terminal sets it up, and what comes meanwhile is lost.
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
