# restore_file and restore_dir from a snapshot of a real pool, to ext4 and to ZFS.
load pools

# fill_tree DIR: make files of all kinds.
fill_tree() {
	mkdir -p "$1"/{sub/deep,empty}
	echo text >"$1/sub/text"
	setfattr -n user.note -v kept "$1/sub/text"
	chmod 4750 "$1/sub/text"
	ln "$1/sub/text" "$1/hard"
	truncate -s 6M "$1/sparse"
	echo 'an island' | dd of="$1/sparse" bs=1 seek=3000000 conv=notrunc status=none
	truncate -s 1M "$1/hole"
	: >"$1/none"
	echo odd >"$1/sub/deep/"$'new\nline \\ \xff'
	ln -s /etc/passwd "$1/away"
	mkfifo "$1/fifo"
	chmod 2711 "$1/empty"
	touch -h -d '2001-02-03 04:05:06.789' "$1/away" "$1/sub/text" "$1/sparse" "$1/sub/deep" "$1/empty" "$1/sub"
}

fill() {
	local at=$POINT/data
	zfs create -o xattr=sa "$POOL/data"
	zfs create "$POOL/target"
	chmod 1777 "$POINT/target" "$BATS_FILE_TMPDIR"
	fill_tree "$at/root"
	chown 1:2 "$at/root/sub" "$at/root/sub/text" "$at/root/away"
	fill_tree "$at/plain"
	chown -hR 54322:54322 "$at/plain"
	chmod 4750 "$at/plain/sub/text"
	chmod 2711 "$at/plain/empty"
	zfs snapshot "$POOL/data@before it was lost"
	rm -r "$at/root" "$at/plain"
}

@test "everything that a snapshot has comes back, with holes, modes, times and attributes" {
	export OPTIONS="--allow-restore $POINT/target --allow-restore $BATS_FILE_TMPDIR"
	compare <<'END'
data = Dataset(POOL + "/data")
snap = data.rows[0]["name"]
for call, below in (agent().call, POINT + "/target"), (query, os.path.dirname(POINT)):
    tree = f"{below}/tree-{WHO}"
    got = call("restore_dir", snapshot=snap, snapshot_path=WHO, target_path=tree)
    equal(got, {"snapshot": snap, "snapshot_path": WHO, "target_path": tree, "backup_path": None})
    equal(attributes(tree), attributes(data.at(snap, WHO)))
    # A file alone, over another one that is kept as a backup.
    copy = f"{below}/copy-{WHO}"
    with open(copy, "w") as file:
        file.write("older")
    got = call("restore_file", snapshot=snap, snapshot_path=WHO + "/sparse", target_path=copy,
               overwrite=True, backup=True)
    equal(got["size_bytes"], 6 << 20)
    equal(attributes(copy), attributes(data.at(snap, WHO + "/sparse")))
    with open(got["backup_path"]) as file:
        equal(file.read(), "older")
    refused(-32002, "", "restore_file", snapshot=snap, snapshot_path=WHO + "/none", target_path=copy)
    equal(attributes(copy), attributes(data.at(snap, WHO + "/sparse")))
# The snapshot itself cannot be written.
refused(-32002, "", "restore_file", snapshot=snap, snapshot_path=WHO + "/none",
        target_path=data.at(snap, WHO + "/other"))
# Nothing of the restore is left.
left = [name for below in (POINT + "/target", os.path.dirname(POINT)) for name in os.listdir(below)
        if name.startswith(".strata-restore")]
equal(left, [])
END
}

@test "restoring is refused without --allow-restore" {
	compare <<'END'
snap = POOL + "/data@before it was lost"
for method in "restore_file", "restore_dir":
    refused(-32002, "", method, snapshot=snap, snapshot_path=WHO, target_path=POINT + "/target/no")
assert not os.path.exists(POINT + "/target/no")
END
}
