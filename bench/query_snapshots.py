#!/usr/bin/python3
"""query_snapshots.py DIR SNAPSHOTS FILES - make backups as rsnapshot does, for row 21.

Each snapshot is a directory of DIR whose name is a date.  An unchanged file is a hard link to the file in the previous
snapshot.  From each snapshot to the next, 20 files change, one is deleted and one is added.  The same arguments always
give the same files.
"""

import datetime
import os
import random
import sys

CHANGED = 20
WORDS = "dev irq buf page queue lock state flags driver init exit probe reg read write clk dma skb inode sock".split()


def text_of(chance):
    lines = (" ".join(chance.choices(WORDS, k=chance.randint(2, 10))) for _ in range(chance.randint(5, 60)))
    return "\n".join(lines) + "\n"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main():
    base, snapshots, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(21)
    names = [f"src/d{i // 50:03}/f{i:05}.c" for i in range(files)]
    before = None
    for number in range(snapshots):
        now = os.path.join(base, str(datetime.date(2020, 1, 1) + datetime.timedelta(days=number)))
        changed = set(chance.sample(names, min(CHANGED, len(names)))) if before else set(names)
        if before:
            gone = max(changed)  # so that files of src/d000 are in all snapshots
            changed.remove(gone)
            names.remove(gone)
            names.append(f"src/new/n{number:05}.c")
            changed.add(names[-1])
        for name in names:
            if name in changed:
                write(os.path.join(now, name), text_of(chance))
            else:
                target = os.path.join(now, name)
                try:
                    os.link(os.path.join(before, name), target)
                except FileNotFoundError:
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    os.link(os.path.join(before, name), target)
        before = now


main()
