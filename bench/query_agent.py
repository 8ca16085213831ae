#!/usr/bin/python3
"""query_agent.py DATASET ROOT RUNS AGENT... - ask an agent each question that walks snapshots, for row 21.

AGENT serves requests on its standard input, and knows the folder ROOT as DATASET.  The same questions are answered by
walks written here, which keep to the same rules.  Prints a line of JSON for each method: the processor
time in microseconds of the agent with its processes, and of the walk, both the median of RUNS, after one of each that
does not count; the time until the answer; and whether both gave the same answer.  The last line has the memory of the
agent in KiB: of all its processes together, and the most that one ever had.
"""

import contextlib
import datetime
import difflib
import fnmatch
import hashlib
import json
import os
import re
import stat
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
        """Returns the processor time of all present processes and threads, in microseconds."""
        total = 0
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as times:
                    total += int(times.read().split()[0])
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

# As the agent does, the walks follow no symbolic link in any component, open nothing but directories and regular files,
# find the snapshots and their times anew for each question, and end with the text of the reply.

FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DIRECTORY = FILE | os.O_DIRECTORY


@contextlib.contextmanager
def opened(path, flags, where=None):
    handle = os.open(path, flags, dir_fd=where)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def parent_of(root, path):
    """The directory that has the last name of path, reached without a symbolic link, and this name."""
    names = [name for name in path.split("/") if name]
    with contextlib.ExitStack() as stack:
        here = root
        for name in names[:-1]:
            here = stack.enter_context(opened(name, DIRECTORY, here))
        yield here, names[-1] if names else "."


def stat_below(root, path):
    try:
        with parent_of(root, path) as (here, name):
            return os.stat(name, dir_fd=here, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_in(here, name):
    with opened(name, FILE, here) as handle:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with open(handle, "rb", closefd=False) as file:
            return file.read()


def read_below(root, path):
    with parent_of(root, path) as (here, name):
        return read_in(here, name)


def files_of(root):
    """The files below a directory: the path, the directory that has it, and its name."""
    for where, folders, names, handle in os.fwalk(".", dir_fd=root):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(where, name)[2:], handle, name


def row_of(snapshot, creation, found):
    row = {"snapshot": snapshot, "creation": creation, "present": found is not None}
    if found:
        row.update(size=found.st_size, mtime=int(found.st_mtime), is_symlink=stat.S_ISLNK(found.st_mode))
    return row


class Walks:
    def __init__(self, root):
        self.root = root

    def snapshots(self):
        found = []
        with opened(self.root, DIRECTORY) as root:
            for name in os.listdir(root):
                if stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
                    when = datetime.datetime.strptime(name, "%Y-%m-%d").replace(tzinfo=datetime.timezone.utc)
                    found.append((int(when.timestamp()), name))
        return sorted(found)

    @contextlib.contextmanager
    def snapshot(self, name):
        with opened(self.root, DIRECTORY) as root, opened(name, DIRECTORY, root) as handle:
            yield handle

    def each(self):
        snapshots = self.snapshots()
        with opened(self.root, DIRECTORY) as root:
            for creation, name in snapshots:
                with opened(name, DIRECTORY, root) as handle:
                    yield name, creation, handle

    def list_dir(self, snapshot, path):
        rows = []
        with self.snapshot(snapshot) as root, parent_of(root, path) as (above, last), opened(last, DIRECTORY, above) as here:
            for name in sorted(os.listdir(here)):
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
                kind = "dir" if stat.S_ISDIR(found.st_mode) else "file"
                rows.append({"name": name, "type": kind, "size": found.st_size, "mtime": int(found.st_mtime),
                             "mode": stat.S_IMODE(found.st_mode)})
        return rows

    def find_files(self, snapshot, pattern):
        with self.snapshot(snapshot) as root:
            return [{"path": path, "name": name} for path, _, name in files_of(root) if fnmatch.fnmatch(name, pattern)]

    def content_grep(self, snapshot, pattern):
        wanted, found = re.compile(pattern), []
        with self.snapshot(snapshot) as root:
            for path, here, name in files_of(root):
                for number, line in enumerate(read_in(here, name).decode().splitlines(), 1):
                    if wanted.search(line):
                        found.append({"path": path, "line": number, "text": line})
        return found

    def sizes(self, snapshot):
        sums = {}
        with self.snapshot(snapshot) as root:
            for path, here, name in files_of(root):
                size = os.stat(name, dir_fd=here, follow_symlinks=False).st_size
                while path:
                    sums[path] = sums.get(path, 0) + size
                    path = os.path.dirname(path)
        return sums

    def size_breakdown(self, snapshot):
        return [{"name": path, "bytes": size} for path, size in self.sizes(snapshot).items() if "/" not in path]

    def top_consumers(self, snapshot):
        largest = sorted(self.sizes(snapshot).items(), key=lambda item: -item[1])[:20]
        return [{"path": path, "bytes": size} for path, size in largest]

    def file_history(self, path):
        return [row_of(name, creation, stat_below(root, path)) for name, creation, root in self.each()]

    def snapshots_containing(self, path):
        return [row for row in self.file_history(path) if row["present"]]

    def versions_of(self, path):
        versions = {}
        for name, creation, root in self.each():
            if stat_below(root, path):
                key = hashlib.sha256(read_below(root, path)).hexdigest()
                versions.setdefault(key, []).append({"snapshot": name, "creation": creation})
        return [{"sha256": key, "snapshots": snapshots} for key, snapshots in versions.items()]

    def file_diff(self, first, second, path):
        texts = []
        for name in (first, second):
            with self.snapshot(name) as root:
                texts.append(read_below(root, path).decode().splitlines(True))
        return list(difflib.unified_diff(*texts))

    def contents(self, snapshot):
        with self.snapshot(snapshot) as root:
            return {path: hashlib.sha256(read_in(here, name)).digest() for path, here, name in files_of(root)}

    def diff_snapshots(self, first, second):
        a, b = self.contents(first), self.contents(second)
        return [path for path in sorted(a.keys() | b.keys()) if a.get(path) != b.get(path)]

    def find_deleted(self):
        snapshots, found = self.snapshots(), []
        for _, name in (snapshots[0], snapshots[-1]):
            with self.snapshot(name) as root:
                found.append({path for path, _, _ in files_of(root)})
        return sorted(found[0] - found[1])

    def bisect_change(self, path):
        snapshots = self.snapshots()

        def exists(at):
            with self.snapshot(snapshots[at][1]) as root:
                return stat_below(root, path) is not None

        low, high = 0, len(snapshots) - 1
        first = exists(low)
        if first == exists(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if exists(middle) == first else (low, middle)
        return {"from": snapshots[low], "to": snapshots[high]}

    def grep_history(self, pattern):
        wanted, found = re.compile(pattern), {}
        for snapshot, _, root in self.each():
            for path, here, name in files_of(root):
                for line in read_in(here, name).decode().splitlines():
                    if wanted.search(line):
                        found.setdefault((path, line), []).append(snapshot)
        return [{"path": key[0], "text": key[1], "first": seen[0], "last": seen[-1]} for key, seen in found.items()]


def questions(dataset, walks):
    """Method, its parameters, the walk, and how many rows each answer has."""
    snapshots = walks.snapshots()
    first, last = snapshots[0][1], snapshots[-1][1]
    whole = f"{dataset}@{last}"
    gone = walks.find_deleted()[0]
    with walks.snapshot(first) as root, walks.snapshot(last) as newest:
        path = next(path for path, _, _ in files_of(root) if stat_below(newest, path))
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
            json.dumps(walked)
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
