#!/usr/bin/python3
"""query_walks.py DATASET ROOT - answer questions about the folder ROOT of snapshots by walks, for row 21.

This is the agent that strata-agent is compared with: requests as lines of JSON on standard input, replies on standard
output, with the members that docs/QUERY.md names.  It keeps to the same rules.  It follows no symbolic link in any
component of a path, opens nothing but directories and regular files, and finds the snapshots and their times anew for
each question.  It has no threads and keeps nothing from one question to the next.  It lacks parts of strata-agent that
cost time: cursors, deadlines, cancellation, the limit of a reply, renamed directories, and processes that can be
killed.
"""

import datetime
import difflib
import fnmatch
import hashlib
import json
import os
import re
import stat
import sys

FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
DIRECTORY = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "symlink"}
DATASET = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.:/ -]*[A-Za-z0-9_.:/-])?")
SNAPSHOT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.: -]*")
BINARY_PREFIX = 8 << 10
LINE_MAX = 1 << 20


# --- parameters


def text(params, key, default=None):
    value = params.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' must be a string")
    return value


def number(params, key, default, cap):
    value = params.get(key, default)
    if type(value) is not int or value <= 0:
        raise ValueError(f"'{key}' must be a positive integer")
    return min(value, cap)


def names_of(path):
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ValueError("a path with '..'")
    return names


# --- files below a descriptor


def reach(root, names):
    """Open the directory that these names lead to, without a symbolic link.  The caller closes it."""
    here = os.dup(root) if not names else os.open(names[0], DIRECTORY, dir_fd=root)
    for name in names[1:]:
        try:
            below = os.open(name, DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def stat_below(root, names):
    """The attributes of what these names lead to, or None."""
    if not names:
        return os.fstat(root)
    try:
        if len(names) == 1:
            return os.stat(names[0], dir_fd=root, follow_symlinks=False)
        here = reach(root, names[:-1])
        try:
            return os.stat(names[-1], dir_fd=here, follow_symlinks=False)
        finally:
            os.close(here)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_in(here, name, most=None):
    """The content of a regular file, or None for anything else."""
    handle = os.open(name, FILE, dir_fd=here)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        return os.read(handle, found.st_size if most is None else min(most, found.st_size))
    finally:
        os.close(handle)


def read_below(root, names, most=None):
    here = reach(root, names[:-1])
    try:
        return read_in(here, names[-1], most)
    finally:
        os.close(here)


def entries_of(here):
    with os.scandir(here) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def walk(here, prefix=""):
    """Everything below a directory, by name and depth first: the path, the directory that has it, and its entry."""
    for entry in entries_of(here):
        path = prefix + entry.name
        yield path, here, entry
        if entry.is_dir(follow_symlinks=False):
            below = os.open(entry.name, DIRECTORY, dir_fd=here)
            try:
                yield from walk(below, path + "/")
            finally:
                os.close(below)


def kind_of(entry):
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "symlink" if entry.is_symlink() else "other"


def matches_in(content, wanted):
    """The number and the text of each line that matches, as content_grep tells them."""
    if content is None or b"\0" in content[:BINARY_PREFIX]:
        return
    for at, line in enumerate(content.split(b"\n"), 1):
        if len(line) >= LINE_MAX:
            return
        try:
            line = line.decode()
        except UnicodeDecodeError:
            return
        if wanted.search(line):
            yield at, line


# --- the methods


class Folder:
    def __init__(self, dataset, root):
        self.dataset = dataset
        self.root = root

    def full(self, name):
        return f"{self.dataset}@{name}"

    def check_dataset(self, params):
        dataset = text(params, "dataset")
        if not DATASET.fullmatch(dataset) or dataset != self.dataset:
            raise ValueError("no such dataset")

    def name_of(self, params, key="snapshot"):
        dataset, _, name = text(params, key).rpartition("@")
        if dataset != self.dataset or not SNAPSHOT.fullmatch(name):
            raise ValueError("no such snapshot")
        return name

    def open_root(self):
        return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def snapshots(self, folder):
        """The time and the name of each snapshot, the oldest first."""
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    when = datetime.datetime.fromisoformat(entry.name).replace(tzinfo=datetime.timezone.utc)
                    found.append((int(when.timestamp()), entry.name))
        found.sort()
        return found

    def open_snapshot(self, name):
        folder = self.open_root()
        try:
            return os.open(name, DIRECTORY, dir_fd=folder)
        finally:
            os.close(folder)

    def open_in(self, name, names):
        root = self.open_snapshot(name)
        try:
            return reach(root, names)
        finally:
            os.close(root)

    def each(self):
        """The name, the time and the open directory of each snapshot."""
        folder = self.open_root()
        try:
            for creation, name in self.snapshots(folder):
                root = os.open(name, DIRECTORY, dir_fd=folder)
                try:
                    yield name, creation, root
                finally:
                    os.close(root)
        finally:
            os.close(folder)

    def list_dir(self, params):
        name, path = self.name_of(params), text(params, "path")
        most = number(params, "max_entries", 1000, 10000)
        here = self.open_in(name, names_of(path))
        rows = []
        try:
            entries = entries_of(here)
            for entry in entries[:most]:
                found = entry.stat(follow_symlinks=False)
                row = {"name": entry.name, "type": KINDS.get(stat.S_IFMT(found.st_mode), "other")}
                if row["type"] == "symlink":
                    row["target"] = os.readlink(entry.name, dir_fd=here)
                if row["type"] in ("file", "symlink"):
                    row["size"] = found.st_size
                if row["type"] != "other":
                    row["mtime"] = found.st_mtime_ns // 1000000000
                if row["type"] in ("file", "other"):
                    row["mode"] = stat.S_IMODE(found.st_mode)
                rows.append(row)
        finally:
            os.close(here)
        return {"snapshot": self.full(name), "path": path, "entries": rows, "truncated": len(entries) > most}

    def find_files(self, params):
        name, pattern, base = self.name_of(params), text(params, "pattern"), text(params, "path", "")
        most = number(params, "max_results", 100, 1000)
        fits = re.compile(fnmatch.translate(pattern)).match
        here = self.open_in(name, names_of(base))
        rows = []
        try:
            for path, _, entry in walk(here, "/".join(names_of(base))):
                if fits(entry.name):
                    rows.append({"path": path, "name": entry.name, "type": kind_of(entry)})
                    if len(rows) > most:
                        break
        finally:
            os.close(here)
        return {"snapshot": self.full(name), "pattern": pattern, "base": base, "matches": rows[:most],
                "truncated": len(rows) > most}

    def content_grep(self, params):
        name, pattern, base = self.name_of(params), text(params, "pattern"), text(params, "path", "")
        most = number(params, "max_results", 100, 1000)
        wanted, rows = re.compile(pattern), []
        here = self.open_in(name, names_of(base))
        try:
            for path, above, entry in walk(here, "/".join(names_of(base))):
                if not entry.is_file(follow_symlinks=False):
                    continue
                for line, found in matches_in(read_in(above, entry.name), wanted):
                    rows.append({"path": path, "line": line, "text": found})
                if len(rows) > most:
                    break
        finally:
            os.close(here)
        return {"snapshot": self.full(name), "pattern": pattern, "base": base, "matches": rows[:most],
                "truncated": len(rows) > most}

    def size_breakdown(self, params):
        name, path = self.name_of(params), text(params, "path")
        most = number(params, "max_entries", 100000, 1000000)
        rows, walked, cut = [], 0, False
        here = self.open_in(name, names_of(path))
        try:
            for found, _, entry in walk(here):
                if walked == most:
                    cut = True
                    rows[-1]["is_truncated"] = "/" in found
                    break
                walked += 1
                if "/" not in found:
                    rows.append({"name": entry.name, "type": kind_of(entry), "bytes": 0, "is_truncated": False})
                if entry.is_file(follow_symlinks=False):
                    rows[-1]["bytes"] += entry.stat(follow_symlinks=False).st_size
        finally:
            os.close(here)
        return {"snapshot": self.full(name), "path": path, "total_bytes": sum(row["bytes"] for row in rows),
                "entries": rows, "walked_entries": walked, "truncated": cut}

    def top_consumers(self, params):
        name, path = self.name_of(params), text(params, "path")
        count, most = number(params, "n", 20, 1000), number(params, "max_entries", 100000, 1000000)
        rows, cut = [], False

        def weigh(here, prefix):
            """Add the rows of a directory, and return its bytes."""
            nonlocal cut
            total = 0
            for entry in entries_of(here):
                if len(rows) == most:
                    cut = True
                    break
                size, at = 0, len(rows)
                rows.append(None)
                if entry.is_file(follow_symlinks=False):
                    size = entry.stat(follow_symlinks=False).st_size
                elif entry.is_dir(follow_symlinks=False):
                    below = os.open(entry.name, DIRECTORY, dir_fd=here)
                    try:
                        size = weigh(below, prefix + entry.name + "/")
                    finally:
                        os.close(below)
                rows[at] = (prefix + entry.name, kind_of(entry), size)
                total += size
            return total

        here = self.open_in(name, names_of(path))
        try:
            weigh(here, "".join(name + "/" for name in names_of(path)))
        finally:
            os.close(here)
        largest = sorted(rows, key=lambda row: -row[2])[:count]
        return {"snapshot": self.full(name), "path": path,
                "entries": [{"path": at, "type": kind, "bytes": size} for at, kind, size in largest],
                "walked_entries": len(rows), "truncated": cut}

    def rows_of(self, params):
        self.check_dataset(params)
        names = names_of(text(params, "path"))
        for name, creation, root in self.each():
            found = stat_below(root, names)
            row = {"snapshot": self.full(name), "creation": creation, "present": found is not None}
            if found:
                row["size"] = found.st_size
                row["mtime"] = found.st_mtime_ns // 1000000000
                row["is_symlink"] = stat.S_ISLNK(found.st_mode)
            yield row

    def file_history(self, params):
        return {"dataset": self.dataset, "path": params["path"], "versions": list(self.rows_of(params))}

    def snapshots_containing(self, params):
        return {"dataset": self.dataset, "path": params["path"],
                "snapshots": [row for row in self.rows_of(params) if row["present"]]}

    def versions_of(self, params):
        self.check_dataset(params)
        path, most = text(params, "path"), number(params, "max_bytes", 1 << 20, 4 << 20)
        names, versions = names_of(path), {}
        for name, creation, root in self.each():
            try:
                here = reach(root, names[:-1])
            except (FileNotFoundError, NotADirectoryError):
                continue
            try:
                size = os.stat(names[-1], dir_fd=here, follow_symlinks=False).st_size
                content = read_in(here, names[-1], most)
            except FileNotFoundError:
                continue
            finally:
                os.close(here)
            if content is not None:
                key = (hashlib.sha256(content).hexdigest(), size)
                versions.setdefault(key, []).append({"snapshot": self.full(name), "creation": creation})
        rows = [{"sha256": sha256, "size": size, "truncated": size > most, "first_seen": seen[0],
                 "last_seen": seen[-1], "snapshots": seen} for (sha256, size), seen in versions.items()]
        return {"dataset": self.dataset, "path": path, "versions": rows, "truncated": False}

    def file_diff(self, params):
        first, last, path = self.name_of(params, "snap_a"), self.name_of(params, "snap_b"), text(params, "path")
        most = number(params, "max_bytes", 1 << 20, 4 << 20)
        sides = []
        for name in (first, last):
            root = self.open_snapshot(name)
            try:
                found = stat_below(root, names_of(path))
                sides.append((found, read_below(root, names_of(path), most) if found else b""))
            finally:
                os.close(root)
        (in_a, a), (in_b, b) = sides
        lines = difflib.unified_diff(a.decode().splitlines(True), b.decode().splitlines(True),
                                     "a/" + path if in_a else "/dev/null", "b/" + path if in_b else "/dev/null")
        return {"snap_a": self.full(first), "snap_b": self.full(last), "path": path,
                "present_in_a": in_a is not None, "present_in_b": in_b is not None,
                "size_a": in_a.st_size if in_a else None, "size_b": in_b.st_size if in_b else None,
                "truncated_a": bool(in_a) and in_a.st_size > len(a),
                "truncated_b": bool(in_b) and in_b.st_size > len(b),
                "identical": a == b, "encoding": "utf-8", "diff": "".join(lines)}

    def compare(self, first, last):
        """The changes between two snapshots, without renames, and the attributes of what only one of them has."""
        changes, gone, come = [], {}, {}

        def one_side(above, entry, path, op, side):
            found = entry.stat(follow_symlinks=False)
            changes.append({"op": op, "type": KINDS.get(stat.S_IFMT(found.st_mode), "other"), "path": path})
            side[path] = found
            if stat.S_ISDIR(found.st_mode):
                here = os.open(entry.name, DIRECTORY, dir_fd=above)
                try:
                    for below in entries_of(here):
                        one_side(here, below, path + "/" + below.name, op, side)
                finally:
                    os.close(here)

        def both(here_a, here_b, prefix):
            """Compare two directories.  Returns whether an entry other than a directory differs."""
            a = {entry.name: entry for entry in entries_of(here_a)}
            b = {entry.name: entry for entry in entries_of(here_b)}
            differs = a.keys() != b.keys()
            for name in sorted(a.keys() | b.keys()):
                path = prefix + name
                if name not in b:
                    one_side(here_a, a[name], path, "-", gone)
                    continue
                if name not in a:
                    one_side(here_b, b[name], path, "+", come)
                    continue
                x, y = a[name].stat(follow_symlinks=False), b[name].stat(follow_symlinks=False)
                if stat.S_ISDIR(x.st_mode) and stat.S_ISDIR(y.st_mode):
                    below_a = os.open(name, DIRECTORY, dir_fd=here_a)
                    below_b = os.open(name, DIRECTORY, dir_fd=here_b)
                    at = len(changes)
                    what = attributes(x, y)
                    try:
                        if both(below_a, below_b, path + "/") and what == ["mtime"]:
                            what = []
                    finally:
                        os.close(below_a)
                        os.close(below_b)
                    if what:
                        changes.insert(at, {"op": "M", "type": "dir", "path": path, "what": what})
                    continue
                if os.path.samestat(x, y):
                    continue
                what = attributes(x, y)
                if stat.S_IFMT(x.st_mode) != stat.S_IFMT(y.st_mode):
                    what.append("type")
                elif stat.S_ISLNK(x.st_mode):
                    if os.readlink(name, dir_fd=here_a) != os.readlink(name, dir_fd=here_b):
                        what.append("target")
                elif stat.S_ISREG(x.st_mode) and (
                        x.st_size != y.st_size or read_in(here_a, name) != read_in(here_b, name)):
                    what.insert(0, "content")
                if what:
                    differs = True
                    changes.append({"op": "M", "type": KINDS.get(stat.S_IFMT(y.st_mode), "other"), "path": path,
                                    "what": what})
            return differs

        def attributes(x, y):
            what = []
            if stat.S_IMODE(x.st_mode) != stat.S_IMODE(y.st_mode):
                what.append("mode")
            if (x.st_uid, x.st_gid) != (y.st_uid, y.st_gid):
                what.append("owner")
            if x.st_mtime_ns != y.st_mtime_ns:
                what.append("mtime")
            return what

        a = self.open_snapshot(first)
        b = self.open_snapshot(last)
        try:
            what = attributes(os.fstat(a), os.fstat(b))
            if both(a, b, "") and what == ["mtime"]:
                what = []
            if what:
                changes.insert(0, {"op": "M", "type": "dir", "path": "", "what": what})
            return self.join_renames(changes, gone, come, a, b)
        finally:
            os.close(a)
            os.close(b)

    def join_renames(self, changes, gone, come, a, b):
        """Make one change of a file that is gone and a file that has come with the same content."""
        sizes = {found.st_size for found in gone.values() if stat.S_ISREG(found.st_mode) and found.st_size}
        sizes &= {found.st_size for found in come.values()}
        old = {}
        for path, found in gone.items():
            if found.st_size in sizes and stat.S_ISREG(found.st_mode):
                old[hashlib.sha256(read_below(a, path.split("/"))).digest()] = path
        moved = {}
        for path, found in come.items():
            if found.st_size in sizes and stat.S_ISREG(found.st_mode):
                before = old.pop(hashlib.sha256(read_below(b, path.split("/"))).digest(), None)
                if before is not None:
                    moved[path] = before
        origins = set(moved.values())
        joined = []
        for change in changes:
            if change["op"] == "+" and change["path"] in moved:
                joined.append({"op": "R", "type": "file", "path": moved[change["path"]], "new_path": change["path"]})
            elif change["op"] != "-" or change["path"] not in origins:
                joined.append(change)
        return joined

    def diff_snapshots(self, params):
        first, last = self.name_of(params, "snap_a"), self.name_of(params, "snap_b")
        most = number(params, "max_results", 10000, 100000)
        changes = self.compare(first, last)
        return {"snap_a": self.full(first), "snap_b": self.full(last), "changes": changes[:most],
                "truncated": len(changes) > most}

    def ends(self):
        folder = self.open_root()
        try:
            return self.snapshots(folder)
        finally:
            os.close(folder)

    def find_deleted(self, params):
        self.check_dataset(params)
        most = number(params, "max_results", 1000, 10000)
        snapshots = self.ends()
        first, last = snapshots[0][1], snapshots[-1][1]
        rows = [{"path": change["path"], "type": change["type"]} for change in self.compare(first, last)
                if change["op"] == "-"]
        return {"dataset": self.dataset, "from_snapshot": self.full(first), "to_snapshot": self.full(last),
                "deleted": rows[:most], "truncated": len(rows) > most}

    def bisect_change(self, params):
        self.check_dataset(params)
        path, predicate = text(params, "path"), params["predicate"]
        if predicate["kind"] != "exists":
            raise ValueError("this predicate is not written here")
        names, snapshots, asked = names_of(path), self.ends(), 0

        def exists(at):
            nonlocal asked
            asked += 1
            root = self.open_snapshot(snapshots[at][1])
            try:
                return stat_below(root, names) is not None
            finally:
                os.close(root)

        low, high = 0, len(snapshots) - 1
        first, last, transition = exists(low), exists(high), None
        if first != last:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if exists(middle) == first else (low, middle)
            (before, old), (after, new) = snapshots[low], snapshots[high]
            transition = {"from_snapshot": self.full(old), "from_creation": before, "from_value": first,
                          "to_snapshot": self.full(new), "to_creation": after, "to_value": last,
                          "transition_seconds": after - before}
        return {"dataset": self.dataset, "path": path, "predicate": predicate, "transition": transition,
                "evaluated_snapshots": asked, "total_snapshots": len(snapshots), "earliest_value": first,
                "latest_value": last}

    def grep_history(self, params):
        self.check_dataset(params)
        pattern, most = text(params, "pattern"), number(params, "max_results", 1000, 10000)
        wanted, rows, searched, cut = re.compile(pattern), {}, 0, False
        for name, creation, root in self.each():
            searched += 1
            seen = {"snapshot": self.full(name), "creation": creation}
            for path, above, entry in walk(root):
                if not entry.is_file(follow_symlinks=False):
                    continue
                for line, found in matches_in(read_in(above, entry.name), wanted):
                    row = rows.get((path, found))
                    if row:
                        row["last"] = seen
                    elif len(rows) < most:
                        rows[path, found] = {"path": path, "line": line, "text": found, "first": seen, "last": seen}
                    else:
                        cut = True
        return {"dataset": self.dataset, "pattern": pattern, "base": "", "matches": list(rows.values()),
                "searched_snapshots": searched, "truncated": cut}


METHODS = ("list_dir find_files content_grep size_breakdown top_consumers file_history snapshots_containing versions_of "
           "file_diff diff_snapshots find_deleted bisect_change grep_history").split()


def answer(folder, line):
    request = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": request.get("id")}
    try:
        if request["method"] not in METHODS:
            reply["error"] = {"code": -32601, "message": "no such method"}
        else:
            reply["result"] = getattr(folder, request["method"])(request.get("params", {}))
    except (ValueError, KeyError) as error:
        reply["error"] = {"code": -32602, "message": str(error)}
    except OSError as error:
        reply["error"] = {"code": -32002, "message": str(error)}
    return json.dumps(reply, separators=(",", ":"))


def main():
    folder = Folder(sys.argv[1], sys.argv[2])
    for line in sys.stdin:
        sys.stdout.write(answer(folder, line) + "\n")
        sys.stdout.flush()


main()
