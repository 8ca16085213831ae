# Files in snapshots of a real pool: every answer is compared with that of a walk.
load pools

fill() { fill_history; }

@test "methods about one snapshot" {
	compare <<'END'
data = Dataset(POOL + "/data")
for row in data.rows:
    snap = row["name"]
    for path in "", "odd", "new/deep" if row["snap"] != "hourly-1" else "d":
        data.same("list_dir", snapshot=snap, path=path)
        data.same("size_breakdown", snapshot=snap, path=path)
    data.same("top_consumers", snapshot=snap, path="")
    data.same("find_files", snapshot=snap, pattern="*")
    data.same("content_grep", snapshot=snap, pattern="a")
snap = data.rows[1]["name"]
data.same("top_consumers", snapshot=snap, path="odd", n=3)
data.same("find_files", snapshot=snap, pattern="*i[!x]e*")
data.same("content_grep", snapshot=snap, pattern="^line (7|20|21)$", path="")
END
}

@test "contents of files, as sha256sum and a read see them" {
	compare <<'END'
data = Dataset(POOL + "/data")
for snap in data.rows[0]["name"], data.rows[1]["name"]:
    for path, stx in data.walk(snap):
        if type_of(stx) != "file":
            refused(-32002, path if path.isascii() and path.isprintable() and "\\" not in path else "",
                    "read_file", snapshot=snap, path=path)
            refused(-32002, "", "checksum_file", snapshot=snap, path=path)
        elif not os.access(data.at(snap, path), os.R_OK):
            assert WHO == "plain" and path in ("secret", "chmodded"), path
            refused(-32002, "Permission denied", "read_file", snapshot=snap, path=path)
            refused(-32002, "Permission denied", "checksum_file", snapshot=snap, path=path)
        else:
            data.same("checksum_file", snapshot=snap, path=path)
            data.same("read_file", snapshot=snap, path=path)
# Around the data between two holes, and beyond the end of the file.
snap = data.rows[1]["name"]
for offset in 0, 99999, 100000, 100010, 4999995, 5000009, 8388607, 8388608, 9000000:
    for length in 1, 30, 200000:
        data.same("read_file", snapshot=snap, path="sparse", offset=offset, max_bytes=length)
for path in "../data/f", "odd/../../f", "..":
    refused(-32002, "", "read_file", snapshot=snap, path=path)
for path in "link", "away", "dangling", "dirlink/x", "fifo", "device", "e", "f/x", "nope", ".zfs/snapshot":
    refused(-32002, "", "read_file", snapshot=snap, path=path)
refused(-32002, "no snapshot", "list_dir", snapshot=POOL + "/data@nope", path="")
END
}
