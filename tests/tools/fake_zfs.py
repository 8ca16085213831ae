#!/usr/bin/python3
"""fake_zfs - stands for zfs or zpool in tests, whichever name it is called by.

Prints the output that the real program gave for the same arguments.  These variables control it:

    ZFS_ANSWERS  a file of tests/data/zfs-*.txt: blocks of "$ COMMAND", its output, and "--- exit N"
    ZFS_ROOT     the directory that stands for @ROOT@ in answers
    ZFS_LOG      gets a line for each call
    ZFS_DOES     empty: answer; else one of the functions in DOES
"""

import os
import signal
import sys


def answer(command):
    """Print the recorded output of a command.  Returns its exit status."""
    with open(os.environ["ZFS_ANSWERS"], "rb") as file:
        text = file.read().replace(b"@ROOT@", os.environ["ZFS_ROOT"].encode())
    start = text.find(b"\n$ " + command.encode() + b"\n")
    if start < 0:
        sys.stderr.write("fake_zfs has no answer for: %s\n" % command)
        return 99
    body = text[text.index(b"\n", start + 1) + 1:]
    end = body.index(b"--- exit ")
    out, _, err = body[:end].partition(b"--- stderr\n")
    sys.stdout.buffer.write(out)
    sys.stderr.buffer.write(err)
    return int(body[end + len(b"--- exit "):].split()[0])


def hang(_):
    """Never end, whatever signal asks for it.  $ZFS_LOG.pid is the process."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with open(os.environ["ZFS_LOG"] + ".pid", "w", encoding="utf-8") as file:
        file.write("%d\n" % os.getpid())
    while True:
        signal.pause()


def fail(_):
    """Fail like zfs if the pool is suspended."""
    sys.stderr.write("cannot open 'tank': pool I/O is currently suspended\n")
    return 1


def garbage(_):
    """Print bytes that form no line of any list."""
    sys.stdout.buffer.write(bytes(range(256)) * 5000)
    return 0


def endless(_):
    """Print one line without an end."""
    try:
        while True:
            sys.stdout.buffer.write(b"tank" * 10000)
    except BrokenPipeError:
        os._exit(0)


def million(_):
    """Print a million snapshots of tank/a."""
    for first in range(0, 1000000, 1000):
        sys.stdout.write("".join("tank/a@n%d\t%d\t0\t0\n" % (i, i) for i in range(first, first + 1000)))
    return 0


def junk(_):
    """Print a million lines without a meaning."""
    sys.stdout.write("what is this\n" * 1000000)
    return 0


DOES = {"": answer, "hang": hang, "fail": fail, "garbage": garbage, "endless": endless, "million": million, "junk": junk}


def main():
    """Answer as the environment demands."""
    command = " ".join([os.path.basename(sys.argv[0])] + sys.argv[1:])
    if "ZFS_LOG" in os.environ:
        with open(os.environ["ZFS_LOG"], "a", encoding="utf-8") as log:
            log.write(command + "\n")
    status = DOES[os.environ.get("ZFS_DOES", "")](command)
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
