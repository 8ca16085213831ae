#!/usr/bin/python3
"""query_agent.py DATASET ROOT RUNS AGENT... - ask an agent each question that walks snapshots, for row 21.

AGENT serves requests on its standard input, and knows the folder ROOT as DATASET.  The same questions are answered by
walks written here, as one would write them for a few backups.  Prints a line of JSON for each method: the processor
time in microseconds of the agent with its processes, and of the walk, both the median of RUNS, after one of each that
does not count; the time until the answer; and whether both gave the same answer.  The last line has the memory of the
agent in KiB: of all its processes together, and the most that one ever had.
"""

import difflib
import fnmatch
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time


class Agent:
    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def ask(self, method, params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise SystemExit(f"query_agent: {method}: {answer['error']}")
        return answer["result"]

    def pids(self):
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                    left += map(int, children.read().split())
            except FileNotFoundError:
                pass
        return found

    def cpu(self):
        """Microseconds of processor time of all processes and threads that are there."""
        total = 0
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                    total += int(stat.read().split()[0])
        return total / 1000

    def memory(self):
        together = most = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as maps:
                together += sum(int(line.split()[1]) for line in maps if line.startswith("Pss:"))
            with open(f"/proc/{pid}/status", encoding="ascii") as status:
                most = max(most, *(int(line.split()[1]) for line in status if line.startswith("VmHWM:")))
        return {"together": together, "most": most}

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit("query_agent: the agent failed")


# --- the same questions, answered by walks

def files_below(top):
    for where, _, names in os.walk(top):
        for name in names:
            yield os.path.join(where, name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Walks:
    def __init__(self, root):
        self.root = root
        self.snapshots = sorted(os.listdir(root))

    def path(self, snapshot, path=""):
        return os.path.join(self.root, snapshot, path)

    def each(self, path):
        for snapshot in self.snapshots:
            try:
                yield snapshot, os.lstat(self.path(snapshot, path))
            except FileNotFoundError:
                yield snapshot, None

    def list_dir(self, snapshot, path):
        names = sorted(os.listdir(self.path(snapshot, path)))
        return [(name, os.lstat(self.path(snapshot, os.path.join(path, name))).st_mtime) for name in names]

    def find_files(self, snapshot, pattern):
        return [path for path in files_below(self.path(snapshot)) if fnmatch.fnmatch(os.path.basename(path), pattern)]

    def content_grep(self, snapshot, pattern):
        wanted, found = re.compile(pattern), []
        for path in sorted(files_below(self.path(snapshot))):
            for number, line in enumerate(read(path).decode().splitlines(), 1):
                if wanted.search(line):
                    found.append((path, number, line))
        return found

    def sizes(self, snapshot):
        sums = {}
        top = self.path(snapshot)
        for path in files_below(top):
            size = os.lstat(path).st_size
            while path != top:
                sums[path] = sums.get(path, 0) + size
                path = os.path.dirname(path)
        return sums

    def size_breakdown(self, snapshot):
        top = self.path(snapshot)
        return {path: size for path, size in self.sizes(snapshot).items() if os.path.dirname(path) == top}

    def top_consumers(self, snapshot):
        return sorted(self.sizes(snapshot).items(), key=lambda item: -item[1])[:20]

    def file_history(self, path):
        return [(snapshot, stat and (stat.st_size, int(stat.st_mtime))) for snapshot, stat in self.each(path)]

    def snapshots_containing(self, path):
        return [row for row in self.file_history(path) if row[1]]

    def versions_of(self, path):
        versions = {}
        for snapshot, stat in self.each(path):
            if stat:
                versions.setdefault(hashlib.sha256(read(self.path(snapshot, path))).hexdigest(), []).append(snapshot)
        return versions

    def file_diff(self, first, second, path):
        texts = [read(self.path(snapshot, path)).decode().splitlines(True) for snapshot in (first, second)]
        return list(difflib.unified_diff(*texts))

    def contents(self, snapshot):
        top = self.path(snapshot)
        return {os.path.relpath(path, top): hashlib.sha256(read(path)).digest() for path in files_below(top)}

    def diff_snapshots(self, first, second):
        a, b = self.contents(first), self.contents(second)
        return [path for path in a.keys() | b.keys() if a.get(path) != b.get(path)]

    def find_deleted(self):
        tops = [self.path(snapshot) for snapshot in (self.snapshots[0], self.snapshots[-1])]
        a, b = ({os.path.relpath(path, top) for path in files_below(top)} for top in tops)
        return sorted(a - b)

    def bisect_change(self, path):
        low, high = 0, len(self.snapshots) - 1
        value = [os.path.exists(self.path(self.snapshots[end], path)) for end in (low, high)]
        while value[0] != value[1] and high - low > 1:
            middle = (low + high) // 2
            if os.path.exists(self.path(self.snapshots[middle], path)) == value[0]:
                low = middle
            else:
                high = middle
        return self.snapshots[high]

    def grep_history(self, pattern):
        wanted, found = re.compile(pattern), {}
        for snapshot in self.snapshots:
            for path in files_below(self.path(snapshot)):
                for line in read(path).decode().splitlines():
                    if wanted.search(line):
                        found.setdefault((os.path.relpath(path, self.path(snapshot)), line), []).append(snapshot)
        return found


def questions(dataset, walks):
    """Method, its parameters, the walk, and how many rows each answer has."""
    first, last = walks.snapshots[0], walks.snapshots[-1]
    whole = f"{dataset}@{last}"
    path, gone = "src/d000/f00007.c", walks.find_deleted()[0]
    rare = "probe probe probe"
    here = {"dataset": dataset, "path": path}
    pair = {"snap_a": f"{dataset}@{first}", "snap_b": whole}
    return [
        ("list_dir", {"snapshot": whole, "path": "src/d000"}, lambda: walks.list_dir(last, "src/d000"), "entries"),
        ("find_files", {"snapshot": whole, "pattern": "f0001*.c"}, lambda: walks.find_files(last, "f0001*.c"), "matches"),
        ("content_grep", {"snapshot": whole, "pattern": rare, "max_results": 1000},
         lambda: walks.content_grep(last, rare), "matches"),
        ("size_breakdown", {"snapshot": whole, "path": ""}, lambda: walks.size_breakdown(last), "entries"),
        ("top_consumers", {"snapshot": whole, "path": ""}, lambda: walks.top_consumers(last), "entries"),
        ("file_history", here, lambda: walks.file_history(path), "versions"),
        ("snapshots_containing", here, lambda: walks.snapshots_containing(path), "snapshots"),
        ("versions_of", here, lambda: walks.versions_of(path), "versions"),
        ("file_diff", {**pair, "path": path}, lambda: walks.file_diff(first, last, path), None),
        ("diff_snapshots", pair, lambda: walks.diff_snapshots(first, last), None),
        ("find_deleted", {"dataset": dataset}, walks.find_deleted, "deleted"),
        ("bisect_change", {"dataset": dataset, "path": gone, "predicate": {"kind": "exists"}},
         lambda: walks.bisect_change(gone), None),
        ("grep_history", {"dataset": dataset, "pattern": rare, "max_results": 10000},
         lambda: walks.grep_history(rare), "matches"),
    ]


def main():
    dataset, root, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    agent, walks = Agent(sys.argv[4:]), Walks(root)
    agent.ask("agent_info", {})
    for method, params, walk, rows in questions(dataset, walks):
        agent_cpu, walk_cpu, wall = [], [], []
        answer = walked = None
        for _ in range(runs + 1):
            before, began = agent.cpu(), time.monotonic()
            answer = agent.ask(method, params)
            wall.append((time.monotonic() - began) * 1e6)
            agent_cpu.append(agent.cpu() - before)
            began = time.process_time()
            walked = walk()
            walk_cpu.append((time.process_time() - began) * 1e6)
        print(json.dumps({
            "method": method,
            "agent": round(statistics.median(agent_cpu[1:])),
            "walk": round(statistics.median(walk_cpu[1:])),
            "wall": round(statistics.median(wall[1:])),
            "same": rows is None or len(answer[rows]) == len(walked),
        }), flush=True)
    print(json.dumps(agent.memory()))
    agent.end()


main()
