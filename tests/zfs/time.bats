# Questions about the history of a path, and about two snapshots, on a real pool.
load pools

fill() { fill_history; }

@test "methods about the history of a path" {
	compare <<'END'
data = Dataset(POOL + "/data")
paths = ["f", "text", "text/line 1", "keep", "kept", "gone/a", "gone/sub/b", "d/x", "e/x", "both2", "swap1", "none",
         "random", "sparse", "new/deep/file", "hard1", "hard3", "odd/bad\udcff\udcfe", "odd/new\nline", "odd/tab\there",
         "odd/tab\nand\\more", "odd/-dash", "odd/ space ", "nope", "f/x"]
for path in paths:
    data.same("file_history", dataset=data.name, path=path)
    data.same("versions_of", dataset=data.name, path=path)
    data.same("versions_of", dataset=data.name, path=path, max_bytes=3)
    if path != "text":  # the file became a directory
        data.same("blame_path", dataset=data.name, path=path)
for path in "f", "gone", "new", "link", "fifo", "odd/bad\udcff\udcfe", "nope":
    data.same("first_appearance", dataset=data.name, path=path)
    data.same("last_appearance", dataset=data.name, path=path)
    data.same("snapshots_containing", dataset=data.name, path=path)
middle = data.rows[1]["creation"]
data.same("snapshots_containing", dataset=data.name, path="kept", after=f"@{middle + 1}",
          before=f"@{middle + 100}")
data.same("grep_history", dataset=data.name, pattern="o")
data.same("find_deleted", dataset=data.name)
END
}

@test "bisect_change finds the snapshots between which a condition changed" {
	compare <<'END'
data = Dataset(POOL + "/data")
random = data.checksum_file(data.rows[0]["name"], "sparse")["sha256"]
for path, predicate in (
        ("kept", {"kind": "exists"}),
        ("gone/sub/b", {"kind": "exists"}),
        ("text/line 1", {"kind": "exists"}),
        ("both2", {"kind": "contains", "needle": "more"}),
        ("odd/bad\udcff\udcfe", {"kind": "contains", "needle": "changed"}),
        ("sparse", {"kind": "sha256_equals", "hash": random}),
        ("both2", {"kind": "size_at_least", "size": 6})):
    got = ask("bisect_change", dataset=data.name, path=path, predicate=predicate)
    assert 2 <= got.pop("evaluated_snapshots") <= len(data.rows), got
    equal(got, data.bisect_change(data.name, path, predicate))
END
}

@test "diff_snapshots gives the changes of zfs diff, with its escapes decoded" {
	compare <<'END'
data = Dataset(POOL + "/data")
names = [row["name"] for row in data.rows]
for first in range(len(names)):
    for last in range(first + 1, len(names)):
        data.same("diff_snapshots", snap_a=names[first], snap_b=names[last])
        data.same("size_delta", snap_a=names[first], snap_b=names[last])
changes = ask("diff_snapshots", snap_a=names[0], snap_b=names[1])["changes"]
def of(path, op):
    rows = [row for row in changes if row["path"] == f"{POINT}/data/{path}" and row["op"] == op]
    assert len(rows) == 1, (path, op, rows)
    return {name: value.removeprefix(POINT + "/data/") for name, value in rows[0].items()}
# A file and a directory that were renamed, one that was changed besides, and files that changed places.
equal(of("keep", "R"), {"op": "R", "type": "file", "path": "keep", "new_path": "kept"})
equal(of("d", "R"), {"op": "R", "type": "dir", "path": "d", "new_path": "e"})
equal(of("both", "R"), {"op": "R", "type": "file", "path": "both", "new_path": "both2"})
equal(of("swap1", "R")["new_path"], "swap2")
equal(of("swap2", "R")["new_path"], "swap1")
assert not [row for row in changes if row["path"].endswith("/d/x")], changes
equal(of("odd/tab\there", "R")["new_path"], "odd/tab\nand\\more")
equal(of("odd/bad\udcff\udcfe", "M")["type"], "file")
equal(of("odd/back\\slash", "-")["type"], "file")
equal(of("new/deep", "+")["type"], "dir")
for path in "sparse", "chmodded":
    equal(of(path, "M")["type"], "file")
# In parts.
part = agent().call("diff_snapshots", snap_a=names[0], snap_b=names[1], max_results=5)
rest = agent().call("diff_snapshots", snap_a=names[0], snap_b=names[1], max_results=1000, cursor=part["cursor"])
equal((part["truncated"], rest["truncated"], part["changes"] + rest["changes"]), (True, False, changes))
data_of_error = refused(-32001, "Unable to obtain diffs", "diff_snapshots", snap_a=names[1], snap_b=names[0])
assert data_of_error["argv"][:2] == ["zfs", "diff"] and "Unable" in data_of_error["stderr"], data_of_error
refused(-32001, "", "size_delta", snap_a=names[1], snap_b=names[0])
END
}

@test "file_diff gives the same as diff -u" {
	compare <<'END'
data = Dataset(POOL + "/data")
first, second, third, last = (row["name"] for row in data.rows)
for a, b, path in ((first, second, "text"), (first, second, "f"), (first, second, "keep"), (first, second, "kept"),
                   (second, third, "odd/bad\udcff\udcfe"), (first, third, "swap1"), (first, second, "noend"),
                   (first, last, "f"), (first, second, "nope"), (first, second, "both2"), (second, first, "gone/a"),
                   (first, second, "odd/-dash")):
    if path.isascii() and path.isprintable():
        data.same("file_diff", snap_a=a, snap_b=b, path=path)
    else:
        expected = data.file_diff(a, b, path)
        equal({**ask("file_diff", snap_a=a, snap_b=b, path=path), "diff": ""}, {**expected, "diff": ""})
got = ask("file_diff", snap_a=first, snap_b=second, path="sparse")
equal((got["encoding"], got["identical"], got["diff"]), ("binary", False, ""))
END
}

@test "zfs diff needs the permission diff" {
	zfs create "$POOL/closed"
	zfs snapshot "$POOL/closed@1"
	zfs snapshot "$POOL/closed@2"
	compare <<'END'
ask_diff = {"snap_a": POOL + "/closed@1", "snap_b": POOL + "/closed@2"}
if WHO == "root":
    equal(ask("diff_snapshots", **ask_diff)["changes"], [])
else:
    data = refused(-32001, "permission is needed", "diff_snapshots", **ask_diff)
    equal(data["argv"], ["zfs", "diff", "-H", "-F", POOL + "/closed@1", POOL + "/closed@2"])
equal(ask("size_delta", **ask_diff)["written_bytes"], 0)
END
	zfs destroy -r "$POOL/closed"
}
