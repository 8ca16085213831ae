"""truth - the answers of query methods about ZFS, from walks of .zfs/snapshot and from the program zfs.

PYTHONPATH=tests/zfs:tests/tools python3 - <<'END'
from truth import *
data = Dataset("tank/data")
data.same("list_dir", snapshot="tank/data@1", path="")
END

same() asks a method, and compares the result with the one of this file.  Nothing here uses code of strata.  All
questions of a script go to one agent, and the first one of each method also to strata query.  STRATA and
STRATA_AGENT are the programs, and OPTIONS has options for both.
"""
import base64
import collections
import fnmatch
import hashlib
import json
import os
import re
import stat
import subprocess
import sys

import agentpeer

MIB = 1 << 20


def run(*argv):
    """The standard output of a program that must succeed."""
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout


def zfs(*arguments):
    """The lines that zfs prints."""
    return run("zfs", *arguments).decode(errors="surrogateescape").splitlines()


class Refused(Exception):
    """strata query failed; the text is its message."""


def options():
    return ["--provider", "zfs", *os.environ.get("OPTIONS", "").split()]


def query(method, **params):
    """The result of a method, by strata query."""
    done = subprocess.run(
        [os.environ["STRATA"], "query", *options(), method, "--json", "--params", json.dumps(params)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        assert done.returncode == 1 and not done.stdout, done
        raise Refused(done.stderr.decode())
    return json.loads(done.stdout)


_agents = []
_queried = set()


def agent():
    """The agent of this script."""
    if not _agents:
        sys.argv[1:] = [os.environ["STRATA_AGENT"], "query", *options()]
        _agents.append(agentpeer.Agent())
    return _agents[0]


def ask(method, **params):
    """The result of a method."""
    result = agent().call(method, **params)
    if method not in _queried:
        _queried.add(method)
        equal(query(method, **params), result)
    return result


def refused(code, text, method, **params):
    """Check that a method is refused with this code, by a message with this text.  Returns the data of the error."""
    try:
        result = agent().call(method, **params)
    except agentpeer.Refused as why:
        assert why.code == code and text in why.message, f"{method} {params}: {why}"
        data = why.data
    else:
        raise AssertionError(f"{method} {params} was not refused: {result}")
    if (method, code) in _queried:
        return data
    _queried.add((method, code))
    try:
        result = query(method, **params)
    except Refused as why:
        assert text in str(why), f"{method} {params}: {why}"
        return data
    raise AssertionError(f"{method} {params} was not refused: {result}")


def equal(got, expected):
    """Compare two results, and show the first difference."""
    if got == expected:
        return
    lines = [json.dumps(item, sort_keys=True, indent=1).splitlines() for item in (expected, got)]
    first = next((at for at, pair in enumerate(zip(*lines)) if pair[0] != pair[1]), min(map(len, lines)))
    raise AssertionError("\n".join(
        f"{name}, from line {first}:\n" + "\n".join(text[max(first - 3, 0):first + 5])
        for name, text in zip(("expected", "answered"), lines)))


def undo_escapes(field):
    """The path that zfs diff has written with escapes."""
    raw = field.encode(errors="surrogateescape")
    raw = re.sub(rb"\\0([0-7]{3})", lambda found: bytes([int(found[1], 8)]), raw)
    return raw.decode(errors="surrogateescape")


def data_ranges(path):
    """Where a file has data, as opposed to holes."""
    with open(path, "rb") as file:
        end, at, ranges = os.fstat(file.fileno()).st_size, 0, []
        while at < end:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            ranges.append((begin, at))
        return ranges


def attributes(top):
    """Everything that a restore keeps of a file, or of a directory and all below it."""
    below = (os.path.join(where, name) for where, dirs, files in os.walk(top) for name in dirs + files)
    found = {}
    for path in sorted([top, *below]):
        stx = os.lstat(path)
        about = {"mode": stx.st_mode, "mtime": stx.st_mtime_ns, "uid": stx.st_uid, "gid": stx.st_gid}
        if stat.S_ISLNK(stx.st_mode):
            about["target"] = os.readlink(path)
        else:
            about["xattrs"] = {key: os.getxattr(path, key).hex() for key in os.listxattr(path)}
        if stat.S_ISREG(stx.st_mode):
            about["data"] = data_ranges(path)
            with open(path, "rb") as file:
                about["sha256"] = hashlib.sha256(file.read()).hexdigest()
        found[os.path.relpath(path, top)] = about
    return found


TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "symlink"}


def type_of(stx):
    return TYPES.get(stat.S_IFMT(stx.st_mode), "other")


def in_order(names):
    return sorted(names, key=os.fsencode)


class Dataset:
    """A dataset, and where it is mounted."""

    def __init__(self, name, point=None):
        self.name = name
        point = point or "\n".join(zfs("get", "-H", "-o", "value", "mountpoint", name))
        self.root = os.path.join(point, ".zfs/snapshot")
        self.rows = []
        for line in zfs("list", "-H", "-p", "-t", "snapshot", "-s", "createtxg", "-d", "1",
                        "-o", "name,creation,used,referenced", name):
            full, *numbers = line.split("\t")
            creation, used, refer = map(int, numbers)
            self.rows.append({"name": full, "dataset": name, "snap": full.partition("@")[2],
                              "creation": creation, "used": used, "refer": refer})

    def same(self, method, **params):
        """Compare the answer to a question with the truth.  Returns the answer."""
        expected = getattr(self, method)(**params)
        got = ask(method, **params)
        for name in ("unreadable", "searched_snapshots", "searched_contents"):
            if name not in expected:
                got.pop(name, None)
        try:
            equal(got, expected)
        except AssertionError as why:
            raise AssertionError(f"{method} {params}: {why}") from None
        return got

    # --- the files of a snapshot

    def at(self, snapshot, path=""):
        """The path of a file below .zfs/snapshot.  snapshot may be a full name."""
        return os.path.join(self.root, snapshot.rpartition("@")[2], path)

    def read(self, snapshot, path):
        """The content of a file; None if it cannot be read, or is no file."""
        where = self.at(snapshot, path)
        try:
            if type_of(os.lstat(where)) != "file":
                return None
            with open(where, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def stat(self, snapshot, path):
        try:
            return os.lstat(self.at(snapshot, path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def walk(self, snapshot, base=""):
        """The path and the attributes of everything below base, depth first and sorted."""
        for name in in_order(os.listdir(self.at(snapshot, base))):
            path = os.path.join(base, name)
            stx = self.stat(snapshot, path)
            yield path, stx
            if stat.S_ISDIR(stx.st_mode):
                try:
                    yield from self.walk(snapshot, path)
                except PermissionError:
                    pass

    # --- methods about one snapshot

    def list_dir(self, snapshot, path):
        entries = []
        for name in in_order(os.listdir(self.at(snapshot, path))):
            where = self.at(snapshot, os.path.join(path, name))
            stx = os.lstat(where)
            entry = {"name": name, "type": type_of(stx), "size": stx.st_size, "mtime": stx.st_mtime_ns // 10**9,
                     "mode": stat.S_IMODE(stx.st_mode)}
            unknown = {"file": (), "dir": ("size", "mode"), "symlink": ("mode",), "other": ("size", "mtime")}
            for member in unknown[entry["type"]]:
                del entry[member]
            if entry["type"] == "symlink":
                entry["target"] = os.readlink(where)
            entries.append(entry)
        return {"snapshot": snapshot, "path": path, "entries": entries, "truncated": False}

    def read_file(self, snapshot, path, offset=0, max_bytes=MIB):
        whole = self.read(snapshot, path)
        part = whole[offset:offset + max_bytes]
        try:
            text, encoding = part.decode(), "utf-8"
        except UnicodeDecodeError:
            text, encoding = base64.b64encode(part).decode(), "base64"
        return {"snapshot": snapshot, "path": path, "size": len(whole), "bytes_returned": len(part),
                "encoding": encoding, "content": text, "truncated": offset + len(part) < len(whole)}

    def checksum_file(self, snapshot, path):
        content = self.read(snapshot, path)
        return {"snapshot": snapshot, "path": path, "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest()}

    def find_files(self, snapshot, pattern, path=""):
        found = [{"path": where, "name": os.path.basename(where), "type": type_of(stx)}
                 for where, stx in self.walk(snapshot, path)
                 if fnmatch.fnmatchcase(os.path.basename(where), pattern)]
        return {"snapshot": snapshot, "pattern": pattern, "base": path, "matches": found, "truncated": False}

    def matches(self, snapshot, pattern, base=""):
        """The path, the number and the text of each line that matches."""
        for path, _ in self.walk(snapshot, base):
            content = self.read(snapshot, path) or b""
            if b"\0" in content[:8192]:
                continue
            for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
                try:
                    text = line.decode()
                except UnicodeDecodeError:
                    break
                if len(line) >= MIB:
                    break
                if re.search(pattern, text):
                    yield path, number, text

    def unreadable(self, *snapshots):
        """How many distinct files of the snapshots this user cannot read."""
        files = set()
        for snapshot in snapshots:
            files |= {stx.st_ino for path, stx in self.walk(snapshot)
                      if type_of(stx) == "file" and not os.access(self.at(snapshot, path), os.R_OK)}
        return {"unreadable": len(files)} if files else {}

    def content_grep(self, snapshot, pattern, path=""):
        rows = [{"path": where, "line": line, "text": text}
                for where, line, text in self.matches(snapshot, pattern, path)]
        return {"snapshot": snapshot, "pattern": pattern, "base": path, "matches": rows, "truncated": False,
                **self.unreadable(snapshot)}

    def bytes_below(self, snapshot, path):
        """The bytes of each file, and of everything below each directory."""
        sums = collections.Counter()
        for where, stx in self.walk(snapshot, path):
            size = stx.st_size if type_of(stx) == "file" else 0
            sums[where] += size
            parent = os.path.dirname(where)
            while parent != path:
                sums[parent] += size
                parent = os.path.dirname(parent)
        return sums

    def size_breakdown(self, snapshot, path):
        sums = self.bytes_below(snapshot, path)
        entries = [{"name": os.path.basename(where), "type": type_of(self.stat(snapshot, where)), "bytes": size,
                    "is_truncated": False}
                   for where, size in sums.items() if os.path.dirname(where) == path]
        entries.sort(key=lambda entry: os.fsencode(entry["name"]))
        return {"snapshot": snapshot, "path": path, "entries": entries, "total_bytes": sum(e["bytes"] for e in entries),
                "walked_entries": len(sums), "truncated": False}

    def top_consumers(self, snapshot, path, n=20):
        sums = self.bytes_below(snapshot, path)
        sizes = sorted(sums.values(), reverse=True)[:n]
        got = ask("top_consumers", snapshot=snapshot, path=path, n=n)["entries"]
        # Paths of the same size may come in any order, so only the sizes are in a fixed order.
        equal([entry["bytes"] for entry in got], sizes)
        entries = [{"path": entry["path"], "type": type_of(self.stat(snapshot, entry["path"])),
                    "bytes": sums[entry["path"]]} for entry in got]
        assert len({entry["path"] for entry in got}) == len(got), got
        return {"snapshot": snapshot, "path": path, "entries": entries, "walked_entries": len(sums),
                "truncated": False}

    # --- methods about the history of a path

    def moment(self, row):
        return {"snapshot": row["name"], "creation": row["creation"]}

    def presence(self, path):
        """The row of each snapshot about a path."""
        for row in self.rows:
            stx = self.stat(row["snap"], path)
            yield {**self.moment(row), "present": False} if not stx else {
                **self.moment(row), "present": True, "mtime": stx.st_mtime_ns // 10**9,
                "size": 0 if stat.S_ISDIR(stx.st_mode) else stx.st_size, "is_symlink": type_of(stx) == "symlink"}

    def file_history(self, dataset, path):
        return {"dataset": dataset, "path": path, "versions": list(self.presence(path))}

    def snapshots_containing(self, dataset, path, after="@0", before="@9000000000"):
        window = range(int(after[1:]), int(before[1:]) + 1)
        rows = [row for row in self.presence(path) if row["present"] and row["creation"] in window]
        return {"dataset": dataset, "path": path, "snapshots": rows}

    def first_appearance(self, dataset, path):
        rows = self.snapshots_containing(dataset, path)["snapshots"]
        return {"dataset": dataset, "path": path, "first": rows[0] if rows else None}

    def last_appearance(self, dataset, path):
        rows = self.snapshots_containing(dataset, path)["snapshots"]
        return {"dataset": dataset, "path": path, "last": rows[-1] if rows else None}

    def versions_of(self, dataset, path, max_bytes=MIB):
        versions = {}
        for row in self.rows:
            content = self.read(row["snap"], path)
            if content is not None:
                digits = hashlib.sha256(content[:max_bytes]).hexdigest()
                version = versions.setdefault((digits, len(content)), {
                    "sha256": digits, "size": len(content), "truncated": len(content) > max_bytes,
                    "first_seen": self.moment(row), "snapshots": []})
                version["last_seen"] = self.moment(row)
                version["snapshots"].append(self.moment(row))
        return {"dataset": dataset, "path": path, "versions": list(versions.values()), "truncated": False}

    def blame_path(self, dataset, path):
        last, before = None, None
        for row in self.rows:
            now = self.read(row["snap"], path)
            if now != before:
                op = "-" if now is None else "+" if before is None else "M"
                last = {**self.moment(row), "op": op}
            before = now
        return {"dataset": dataset, "path": path, "present": before is not None, "last": last}

    def bisect_change(self, dataset, path, predicate):
        judge = {
            "exists": lambda snap: self.stat(snap, path) is not None,
            "contains": lambda snap: predicate["needle"].encode() in (self.read(snap, path) or b""),
            "sha256_equals": lambda snap: hashlib.sha256(self.read(snap, path) or b"").hexdigest() == predicate["hash"],
            "size_at_least": lambda snap: len(self.read(snap, path) or b"") >= predicate["size"],
        }[predicate["kind"]]
        values = [judge(row["snap"]) for row in self.rows]
        at = values.index(not values[0])
        assert values == [values[0]] * at + [not values[0]] * (len(values) - at), "several changes"
        a, b = self.rows[at - 1:at + 1]
        return {"dataset": dataset, "path": path, "predicate": predicate, "total_snapshots": len(values),
                "earliest_value": values[0], "latest_value": values[-1],
                "transition": {"from_snapshot": a["name"], "from_creation": a["creation"], "from_value": values[0],
                               "to_snapshot": b["name"], "to_creation": b["creation"], "to_value": values[-1],
                               "transition_seconds": b["creation"] - a["creation"]}}

    def grep_history(self, dataset, pattern):
        found = {}
        for row in self.rows:
            for path, line, text in self.matches(row["snap"], pattern):
                match = found.setdefault((path, text), {
                    "path": path, "line": line, "text": text, "first": self.moment(row)})
                match["last"] = self.moment(row)
        return {"dataset": dataset, "pattern": pattern, "base": "", "matches": list(found.values()), "truncated": False,
                **self.unreadable(*(row["snap"] for row in self.rows))}

    # --- methods about two snapshots

    def diff_snapshots(self, snap_a, snap_b):
        types = {"F": "file", "/": "dir", "@": "symlink"}
        changes = []
        for line in zfs("diff", "-H", "-F", snap_a, snap_b):
            op, kind, path, *rest = line.split("\t")
            change = {"op": op, "type": types.get(kind, "other"), "path": undo_escapes(path)}
            if op == "R":
                change["new_path"] = undo_escapes(rest[0])
            changes.append(change)
        return {"snap_a": snap_a, "snap_b": snap_b, "changes": changes, "truncated": False}

    def size_delta(self, snap_a, snap_b):
        value, = zfs("get", "-H", "-p", "-o", "value", "written@" + snap_a.partition("@")[2], snap_b)
        return {"snap_a": snap_a, "snap_b": snap_b, "written_bytes": int(value)}

    def file_diff(self, snap_a, snap_b, path):
        a, b = self.read(snap_a, path), self.read(snap_b, path)
        sides = [os.devnull if content is None else self.at(snap, path)
                 for snap, content in ((snap_a, a), (snap_b, b))]
        labels = [os.devnull if content is None else f"{side}/{path}" for side, content in (("a", a), ("b", b))]
        diff = subprocess.run(["diff", "-u", "--label", labels[0], "--label", labels[1], *sides],
                              stdout=subprocess.PIPE, check=False).stdout.decode()
        return {"snap_a": snap_a, "snap_b": snap_b, "path": path,
                "present_in_a": a is not None, "present_in_b": b is not None,
                "size_a": None if a is None else len(a), "size_b": None if b is None else len(b),
                "truncated_a": False, "truncated_b": False, "identical": a is not None and a == b,
                "encoding": "missing" if a is None and b is None else "utf-8", "diff": diff}

    def contents(self, snapshot):
        """The content of each path; of a directory, the contents of what it has."""
        found = {}
        for path, stx in self.walk(snapshot):
            kind = type_of(stx)
            found[path] = (kind, self.read(snapshot, path) if kind == "file" else
                           os.readlink(self.at(snapshot, path)) if kind == "symlink" else stx.st_ino)
        return found

    def find_deleted(self, dataset):
        """What the last snapshot has neither at its path nor, with the same content, at a new one."""
        first, last = self.rows[0], self.rows[-1]
        before, after = self.contents(first["snap"]), self.contents(last["snap"])
        moved = [content for path, content in after.items() if path not in before]
        gone = [{"path": path, "type": content[0]} for path, content in before.items()
                if path not in after and content not in moved]
        return {"dataset": dataset, "from_snapshot": first["name"], "to_snapshot": last["name"], "deleted": gone,
                "truncated": False}

    # --- lists

    def list_snapshots(self, dataset):
        assert dataset == self.name
        return {"snapshots": self.rows}

    def stale_snapshots(self, dataset, older_than):
        seconds = int(older_than.removeprefix("@"))
        rows = sorted((row for row in self.rows if row["creation"] < seconds), key=lambda row: -row["used"])
        return {"dataset": dataset, "older_than_unix": seconds, "snapshots": rows, "truncated": False}

    def snapshot_cadence(self, dataset):
        classes = {}
        for row in self.rows:
            words = ("frequent", "hourly", "daily", "weekly", "monthly")
            name = next((word for word in words if word in row["snap"]), "other")
            classes.setdefault(name, []).append(row)
        order = ["frequent", "hourly", "daily", "weekly", "monthly", "other"]
        gaps = [(b["creation"] - a["creation"], a["name"], b["name"]) for a, b in zip(self.rows, self.rows[1:])]
        gap = max(gaps, key=lambda item: item[0])
        times = [row["creation"] for row in self.rows]
        return {"dataset": dataset, "total_snapshots": len(times),
                "by_class": [{"class": name, "count": len(rows), "earliest_creation": rows[0]["creation"],
                              "latest_creation": rows[-1]["creation"], "unique_bytes": sum(r["used"] for r in rows)}
                             for name in order for rows in [classes.get(name)] if rows],
                "earliest_creation": times[0], "latest_creation": times[-1], "biggest_gap_seconds": gap[0],
                "biggest_gap_between": list(gap[1:]), "total_unique_bytes": sum(row["used"] for row in self.rows)}

    def dataset_properties(self, dataset, properties):
        rows = []
        for line in zfs("get", "-H", "-p", "-o", "property,value,source", ",".join(properties), dataset):
            rows.append(dict(zip(("name", "value", "source"), line.split("\t"))))
        return {"dataset": dataset, "properties": rows}
