# query --provider btrfs: snapshots on a real btrfs on a loop device.
#
# Other tests may mount btrfs at the same time, so every answer is filtered by the path of this
# test.
load helpers
load history

# Another test that looks for snapshots may have a directory of this disk open at this moment.
teardown() {
	local at
	for at in root home disk; do
		umount --lazy "$at" 2>/dev/null || true
	done
	strata_teardown
}

# disk: make an empty btrfs at disk.
disk() {
	need_root
	need mkfs.btrfs btrfs
	truncate -s 200M disk.img
	PATH=$PATH:/usr/sbin:/sbin mkfs.btrfs -q disk.img >mkfs.txt 2>&1
	mkdir disk
	mount -o loop disk.img disk || unavailable "no loop devices"
}

vol() { btrfs -q subvolume "$@"; }

# also_at DIR SUBVOLUME: mount a further subvolume of the disk at DIR.
also_at() {
	mkdir -p "$1"
	mount -o subvol="$2" "$(findmnt -no SOURCE --target disk | sed 's/\[.*//')" "$1"
}

asking() { strata query --json --provider btrfs "$@"; }

# q JQ-FILTER METHOD...: print the result of the filter for the reply.  The result is compact, with
# ~ for this directory.
q() {
	local filter=$1
	shift
	asking "$@" | jq -c "$filter" | sed "s:${PWD#/}:~:g; s:/~:~:g"
}

# datasets: print the datasets of this test.  snapshots: print the names of its snapshots.
datasets() { q '[.datasets[] | select(.name | startswith("'"${PWD#/}"'")) | [.name, .type, .mountpoint]]' list_datasets; }
snapshots() { q '[.snapshots[] | .snap]' list_snapshots dataset="${PWD#/}/$1"; }

# of DATASET@NAME: print the full name.
of() { echo "${PWD#/}/$1"; }

# info N TYPE DATE DESCRIPTION [CLEANUP]: write an info.xml as snapper does.
info() {
	printf '<?xml version="1.0"?>\n<snapshot>\n  <type>%s</type>\n  <num>%s</num>\n  <date>%s</date>\n' "$2" "$1" "$3"
	[ "$2" != post ] || printf '  <pre_num>%s</pre_num>\n' $(($1 - 1))
	printf '  <description>%s</description>\n' "$4"
	[ -z "${5:-}" ] || printf '  <cleanup>%s</cleanup>\n' "$5"
	printf '  <userdata>\n    <key>important</key>\n    <value>yes</value>\n  </userdata>\n</snapshot>\n'
}

# snapper SUBVOLUME N TYPE DESCRIPTION [CLEANUP]: make the files that 'snapper create' makes.
snapper() {
	mkdir "$1/.snapshots/$2"
	info "$2" "$3" "2025-01-0$2 10:00:00" "$4" "${5:-}" >"$1/.snapshots/$2/info.xml"
	vol snapshot -r "$1" "$1/.snapshots/$2/snapshot"
}

# home: make a subvolume with three snapshots of snapper, and mount it at home.
home() {
	disk
	vol create disk/@home
	vol create disk/@home/.snapshots
	mkdir disk/@home/d
	echo one >disk/@home/a
	echo keep >disk/@home/d/keep
	echo gone >disk/@home/d/gone
	snapper disk/@home 1 single timeline timeline
	echo two >disk/@home/a
	snapper disk/@home 2 pre 'apt &lt;install&gt; &amp;c'
	rm disk/@home/d/gone
	echo new >disk/@home/new
	mv disk/@home/d/keep disk/@home/kept
	snapper disk/@home 3 post ''
	also_at home @home
}

@test "snapper: a subvolume with its snapshots by number, and what info.xml tells" {
	home
	is "$(datasets)" '[["~/home","subvolume","~/home"]]'
	is "$(snapshots home)" '["1","2","3"]'
	is "$(q '[.snapshots[] | [.name, .dataset, .kind, .message, .cleanup]]' list_snapshots dataset="$(of home)")" \
		'[["~/home@1","~/home","single","timeline","timeline"],["~/home@2","~/home","pre","apt <install> &c",null],["~/home@3","~/home","post",null,null]]'
	# The kernel's creation time is used and not the time in the file.
	now=$(date +%s)
	[ "$(asking list_snapshots dataset="$(of home)" | jq "[.snapshots[] | select(.creation > $now - 300 and .creation <= $now)] | length")" = 3 ]
	is "$(q '[.datasets[] | select(.name == "'"$(of home)"'") | .avail > 1000000]' list_datasets)" '[true]'
}

@test "what snapper itself makes is read" {
	disk
	need snapper
	vol create disk/.snapshots
	mkdir -p etc/default etc/snapper/configs
	echo 'SNAPPER_CONFIGS="test"' >etc/default/snapper
	printf 'SUBVOLUME="/disk"\nFSTYPE="btrfs"\n' >etc/snapper/configs/test
	create() { command snapper --no-dbus --root "$PWD" -c test create "$@"; }
	echo one >disk/f
	create -d 'a <b> & "c" é' -c number -u key=value
	create --type pre -d $'two\nlines'
	echo two >disk/f
	create --type post --pre-number 2
	is "$(q '[.snapshots[] | [.snap, .kind, .message, .cleanup]]' list_snapshots dataset="$(of disk)")" \
		'[["1","single","a <b> & \"c\" é","number"],["2","pre","two lines",null],["3","post",null,null]]'
	is "$(q '[.versions[] | [.snapshots[].snapshot]]' versions_of dataset="$(of disk)" path=f)" \
		'[["~/disk@1","~/disk@2"],["~/disk@3"]]'
	is "$(q '[.deleted[].path]' find_deleted dataset="$(of disk)")" '[]'
}

@test "the methods that follow a path answer on btrfs" {
	home
	dataset=$(of home)
	is "$(q '[.versions[] | [.snapshot, .present, .size]]' file_history dataset="$dataset" path=new)" \
		'[["~/home@1",false,null],["~/home@2",false,null],["~/home@3",true,4]]'
	is "$(q '[.versions[] | [.size, [.snapshots[].snapshot]]]' versions_of dataset="$dataset" path=a)" \
		'[[4,["~/home@1"]],[4,["~/home@2","~/home@3"]]]'
	is "$(q '[.deleted, .truncated]' find_deleted dataset="$dataset")" '[[{"path":"d/gone","type":"file"}],false]'
	# The directory of the snapshots has another mtime if the clock has ticked between them.
	is "$(q '[.changes[] | select(.path != ".snapshots") | [.op, .type, .path, .new_path]]' diff_snapshots snap_a="$dataset@1" snap_b="$dataset@3")" \
		'[["M","file","a",null],["-","file","d/gone",null],["R","file","d/keep","kept"],["+","file","new",null]]'
	is "$(q .diff file_diff snap_a="$dataset@1" snap_b="$dataset@2" path=a)" '"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"'
	is "$(q .content read_file snapshot="$dataset@1" path=/d/gone)" '"gone\n"'
	is "$(q '[.matches[] | [.path, .text, .first.snapshot, .last.snapshot]]' grep_history dataset="$dataset" pattern='two|gone')" \
		'[["d/gone","gone","~/home@1","~/home@2"],["a","two","~/home@2","~/home@3"]]'
	is "$(q '[.last.snapshot, .last.kind]' blame_path dataset="$dataset" path=a)" '["~/home@2","pre"]'
	is "$(q .written_bytes size_delta snap_a="$dataset@1" snap_b="$dataset@3")" 8
	is "$(q '[.total_snapshots, .total_unique_bytes]' snapshot_cadence dataset="$dataset")" '[3,null]'
}

@test "files that did not change are not read" {
	need strace
	home
	traced strace -f -o trace.txt -e trace=read,pread64 "$STRATA" query --json --provider btrfs versions_of dataset="$(of home)" path=kept >out.json
	is "$(jq '.versions | length' out.json)" 1
	# A file has the same inode in all snapshots.  So the file kept is read only once.  The file
	# keep is in the first two snapshots, and is also read only once.
	traced strace -f -o trace.txt -e trace=read,pread64 "$STRATA" query --json --provider btrfs versions_of dataset="$(of home)" path=d/keep >out.json
	is "$(jq -c '[.versions[].snapshots | length]' out.json)" '[2]'
	is "$(grep -cE 'read(64)?\([0-9]+, "keep' trace.txt)" 1
	traced strace -f -o trace.txt -e trace=read,pread64 "$STRATA" query --json --provider btrfs diff_snapshots snap_a="$(of home)@1" snap_b="$(of home)@2" >out.json
	# The directory of the snapshots has another mtime if the clock has ticked between them.
	is "$(jq -c '[.changes[].path | select(. != ".snapshots")]' out.json)" '["a"]'
	run ! grep -E 'read(64)?\([0-9]+, "keep' trace.txt
}

@test "timeshift: writable snapshots below the top of the file system" {
	disk
	vol create disk/@
	vol create disk/@home
	echo one >disk/@/f
	for date in 2025-01-01_10-00-01 2025-01-02_10-00-01; do
		mkdir -p disk/timeshift-btrfs/snapshots/$date disk/timeshift-btrfs/snapshots-daily
		vol snapshot disk/@ disk/timeshift-btrfs/snapshots/$date/@
		vol snapshot disk/@home disk/timeshift-btrfs/snapshots/$date/@home
		ln -s ../snapshots/$date disk/timeshift-btrfs/snapshots-daily/$date
		echo two >disk/@/f
	done
	also_at root @
	# A mounted subvolume is named after its mount point.  @home is visible only below the top.
	is "$(datasets)" '[["~/disk/_home","subvolume","~/disk/@home"],["~/root","subvolume","~/root"]]'
	is "$(snapshots root)" '["2025-01-01_10-00-01","2025-01-02_10-00-01"]'
	is "$(snapshots disk/_home)" '["2025-01-01_10-00-01","2025-01-02_10-00-01"]'
	is "$(q .content read_file snapshot="$(of root)@2025-01-01_10-00-01" path=f)" '"one\n"'
	is "$(q '[.changes[].path]' diff_snapshots snap_a="$(of root)@2025-01-01_10-00-01" snap_b="$(of root)@2025-01-02_10-00-01")" '["f"]'
	# After a restore, @ is a new subvolume made from a snapshot, and the old one is a further
	# snapshot.
	umount --lazy root
	mkdir disk/timeshift-btrfs/snapshots/2025-01-03_10-00-01
	mv disk/@ disk/timeshift-btrfs/snapshots/2025-01-03_10-00-01/@
	vol snapshot disk/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@ disk/@
	also_at root @
	is "$(snapshots root)" '["2025-01-03_10-00-01","2025-01-01_10-00-01","2025-01-02_10-00-01"]'
}

@test "plain read-only snapshots belong to what they were made from" {
	disk
	vol create disk/data
	mkdir -p disk/snaps/2025-01-03 disk/snaps/2025-01-04
	vol snapshot -r disk/data disk/snaps/data.20250101T0000
	vol snapshot -r disk/data disk/snaps/before
	vol snapshot -r disk/data disk/snaps/2025-01-03/data
	vol snapshot -r disk/data disk/snaps/2025-01-04/data
	vol snapshot -r disk/data disk/before
	vol snapshot -r disk/snaps/before 'disk/again+1'
	vol snapshot disk/snaps/before disk/writable
	vol create disk/other
	is "$(datasets)" '[["~/disk/data","subvolume","~/disk/data"]]'
	# Equal names are distinguished by the directory.  Bytes that names cannot contain are
	# replaced by '_'.
	is "$(snapshots disk/data)" '["data.20250101T0000","snaps:before","2025-01-03","2025-01-04","disk:before","again_1"]'
	# A writable snapshot is a separate subvolume, and may have snapshots of its own.
	vol snapshot -r disk/writable disk/snaps/writable.1
	is "$(datasets)" '[["~/disk/data","subvolume","~/disk/data"],["~/disk/writable","subvolume","~/disk/writable"]]'
	is "$(snapshots disk/writable)" '["writable.1"]'
	fails 1 "strata: no dataset '$(of disk/other)'" asking list_snapshots dataset="$(of disk/other)"
	fails 1 "strata: no snapshot 'writable.1'" asking list_dir snapshot="$(of disk/data)@writable.1" path=
}

@test "snapshots whose subvolume is gone, and those that were received" {
	disk
	mkdir disk/bk
	for line in home root; do
		vol create disk/$line
		for day in 1 2; do
			echo $day >disk/$line/f
			vol snapshot -r disk/$line disk/$line.2025010$day
		done
		btrfs -q send disk/$line.20250101 2>/dev/null | btrfs -q receive disk/bk
		btrfs -q send -p disk/$line.20250101 disk/$line.20250102 2>/dev/null | btrfs -q receive disk/bk
		vol delete disk/$line.20250101 disk/$line.20250102 disk/$line
	done
	is "$(datasets)" '[["~/disk/bk/home","subvolume","~/disk/bk"],["~/disk/bk/root","subvolume","~/disk/bk"]]'
	# All snapshots were received just now, so the times come from their names.
	is "$(q '[.snapshots[] | [.snap, (.creation | todate)]]' list_snapshots dataset="$(of disk/bk/home)")" \
		'[["home.20250101","2025-01-01T00:00:00Z"],["home.20250102","2025-01-02T00:00:00Z"]]'
	is "$(q '[.changes[] | [.op, .path]]' diff_snapshots snap_a="$(of disk/bk/home)@home.20250101" snap_b="$(of disk/bk/home)@home.20250102")" '[["M","f"]]'
	# After a restore, the received snapshots belong to the new subvolume.
	vol snapshot disk/bk/home.20250102 disk/home
	is "$(datasets)" '[["~/disk/bk/root","subvolume","~/disk/bk"],["~/disk/home","subvolume","~/disk/home"]]'
	is "$(snapshots disk/home)" '["home.20250101","home.20250102"]'
}

@test "with quotas, root is told how much each snapshot holds" {
	home
	dataset=$(of home)
	is "$(q '[.snapshots[] | [.used, .refer]] | unique' list_snapshots dataset="$dataset")" '[[null,null]]'
	head -c 3000000 /dev/urandom >home/big
	vol snapshot -r home disk/big
	head -c 1000000 /dev/urandom >home/big
	vol snapshot -r home disk/small
	btrfs quota enable disk
	btrfs quota rescan -w disk >/dev/null
	sync -f disk
	asking list_snapshots dataset="$dataset" >list.json
	is "$(jq -c '[.snapshots[] | select(.snap == "big") | (.used >= 3000000 and .refer >= 3000000 and .used < 3200000)]' list.json)" '[true]'
	is "$(jq -c '[.snapshots[] | select(.snap == "small") | (.used < 200000 and .refer >= 1000000)]' list.json)" '[true]'
	is "$(q '.snapshots[0].snap' stale_snapshots dataset="$dataset" older_than=2100-01-01)" '"big"'
	is "$(q '.total_unique_bytes > 3000000' snapshot_cadence dataset="$dataset")" true
	is "$(q '[.datasets[] | select(.name == "'"$dataset"'") | .used >= 1000000]' list_datasets)" '[true]'
	btrfs quota disable disk
	is "$(q '[.snapshots[] | .used] | unique' list_snapshots dataset="$dataset")" '[null]'
}

@test "files and directories of a snapshot are restored" {
	need setfattr
	home
	setfattr -n user.note -v kept home/kept
	touch -d 2024-01-31T12:00:00 home/kept
	vol snapshot -r home disk/attributes
	dataset=$(of home)
	target=$PWD/out
	strata query --provider btrfs --allow-restore out restore_file snapshot="$dataset@1" snapshot_path=d/gone target_path="$target/gone" >/dev/null
	is "$(cat out/gone)" gone
	strata query --provider btrfs --allow-restore out restore_file snapshot="$dataset@attributes" snapshot_path=kept target_path="$target/kept" >/dev/null
	is "$(stat -c %Y out/kept)" "$(stat -c %Y home/kept)"
	is "$(getfattr --only-values -n user.note out/kept 2>/dev/null || echo none)" kept
	strata query --provider btrfs --allow-restore out restore_dir snapshot="$dataset@2" snapshot_path=d target_path="$target/all" >/dev/null
	same_tree home/.snapshots/2/snapshot/d out/all
	# Without leave, and into the snapshots themselves, nothing is restored.
	run ! strata query --provider btrfs restore_file snapshot="$dataset@1" snapshot_path=d/gone target_path="$target/again"
	[ ! -e out/again ]
	run ! strata query --provider btrfs --allow-restore home/.snapshots/3/snapshot restore_file snapshot="$dataset@1" snapshot_path=d/gone \
		target_path="$PWD/home/.snapshots/3/snapshot/gone"
}

@test "what only looks like a snapshot is refused" {
	home
	mkdir -p home/.snapshots/7/snapshot home/.snapshots/8 home/.snapshots/9
	echo fake >home/.snapshots/7/snapshot/a
	ln -s ../1/snapshot home/.snapshots/8/snapshot
	vol create home/.snapshots/9/snapshot
	vol create disk/other
	mkdir home/.snapshots/10
	vol snapshot disk/other home/.snapshots/10/snapshot
	is "$(snapshots home)" '["1","2","3"]'
	for n in 7 8 9 10; do
		fails 1 "strata: no snapshot '$n'" asking read_file snapshot="$(of home)@$n" path=a
	done
	# A mount or a directory in the place of a snapshot does not count as this snapshot.
	mount -t tmpfs none home/.snapshots/1/snapshot
	echo fake >home/.snapshots/1/snapshot/a
	run -0 asking list_snapshots dataset="$(of home)"
	umount --lazy home/.snapshots/1/snapshot
	is "$(jq -c '[.snapshots[].snap]' <<<"$output")" '["2","3"]'
	mv home/.snapshots/2 home/.snapshots/12
	mkdir -p home/.snapshots/2/snapshot
	fails 1 "strata: no snapshot '2'" asking read_file snapshot="$(of home)@2" path=a
	is "$(snapshots home)" '["1","12","3"]'
	fails 1 "strata: 'snapshot' must be a snapshot's name: DATASET@NAME" asking list_dir snapshot="$(of home)@.." path=
}

@test "a nested subvolume or mount is no part of a snapshot" {
	disk
	vol create disk/@
	vol create disk/@/nested
	echo live >disk/@/nested/file
	echo f >disk/@/f
	mkdir -p disk/timeshift-btrfs/snapshots/2025-01-01_10-00-01
	snapshot=disk/timeshift-btrfs/snapshots/2025-01-01_10-00-01/@
	vol snapshot disk/@ $snapshot
	# The snapshots of timeshift are writable, so other subvolumes and mounts may get into them
	# later.
	vol create $snapshot/inner
	echo secret >$snapshot/inner/file
	mkdir $snapshot/mounted
	mount -t tmpfs none $snapshot/mounted
	echo secret >$snapshot/mounted/file
	at=$(of disk/_)@2025-01-01_10-00-01
	is "$(q '[.entries[] | [.name, .type]]' list_dir snapshot="$at" path=)" '[["f","file"],["inner","dir"],["mounted","dir"],["nested","dir"]]'
	for dir in inner mounted nested; do
		is "$(q .entries list_dir snapshot="$at" path=$dir)" '[]'
		fails 1 "strata: no path '$dir/file' there" asking read_file snapshot="$at" path=$dir/file
	done
	is "$(q '[.matches[].path]' find_files snapshot="$at" pattern=f\*)" '["f"]'
	is "$(q '[.matches[].path]' content_grep snapshot="$at" pattern=secret)" '[]'
	umount --lazy $snapshot/mounted
}

@test "an ordinary user sees the snapshots that he may open" {
	prepare_nobody
	home
	as_nobody() { nobody "$STRATA" query --json --provider btrfs "$@"; }
	as_nobody list_snapshots dataset="$(of home)" | jq -c '[[.snapshots[] | [.snap, .message]], .left_out]' >out.json
	is "$(cat out.json)" '[[["1","timeline"],["2","apt <install> &c"],["3",null]],null]'
	is "$(as_nobody file_history dataset="$(of home)" path=d/gone | jq -c '[.versions[].present]')" '[true,true,false]'
	# The user may not open the directory with the three snapshots, as snapper makes it.
	chmod 750 home/.snapshots
	umount --lazy disk
	fails 1 "strata: open the snapshots of '$(of home)' in '$PWD/home/.snapshots': Permission denied
hint: run it as root, or name this user in ALLOW_USERS of snapper's configuration" \
		as_nobody list_snapshots dataset="$(of home)"
	is "$(as_nobody list_datasets | jq -c '[.datasets[] | select(.name == "'"$(of home)"'")]')" '[]'
	# A single snapshot that the user may not open is counted.
	chmod 755 home/.snapshots
	chmod 700 home/.snapshots/2
	as_nobody list_snapshots dataset="$(of home)" | jq -c '[[.snapshots[].snap], .left_out]' >out.json
	is "$(cat out.json)" '[["1","3"],1]'
}

@test "an agent sees snapshots that come and go while it runs" {
	home
	dataset=$(of home)
	coproc AGENT { exec "$STRATA" agent --provider btrfs 3>&-; }
	# bash closes the descriptors of a coprocess in subshells.
	exec {to}>&"${AGENT[1]}" {from}<&"${AGENT[0]}"
	# ask METHOD PARAMS: the result.
	ask() {
		local reply
		printf '{"id":1,"method":"%s","params":%s}\n' "$1" "$2" >&"$to"
		read -r -t 20 reply <&"$from"
		echo "$reply"
	}
	names() { ask list_snapshots "{\"dataset\":\"$dataset\"}" | jq -c '[.result.snapshots[].snap]'; }
	is "$(names)" '["1","2","3"]'
	mkdir home/.snapshots/4
	vol snapshot -r home home/.snapshots/4/snapshot
	is "$(names)" '["1","2","3","4"]'
	vol delete home/.snapshots/2/snapshot
	is "$(names)" '["1","3","4"]'
	is "$(ask read_file "{\"snapshot\":\"$dataset@2\",\"path\":\"a\"}" | jq -c .error.code)" -32002
	is "$(ask read_file "{\"snapshot\":\"$dataset@4\",\"path\":\"a\"}" | jq -c .result.content)" '"two\n"'
	# Another snapshot of the same name is not the one that was asked for before.
	vol delete home/.snapshots/4/snapshot
	echo other >home/a
	vol snapshot -r home home/.snapshots/4/snapshot
	is "$(ask read_file "{\"snapshot\":\"$dataset@4\",\"path\":\"a\"}" | jq -c .result.content)" '"other\n"'
	# What is mounted over the subvolume hides it.
	mount -t tmpfs none home
	is "$(ask list_datasets '{}' | jq -c "[.result.datasets[].name | select(. == \"$dataset\")]")" '[]'
	umount --lazy home
	is "$(names)" '["1","3","4"]'
	kill "$AGENT_PID"
	exec {to}>&- {from}<&-
}

@test "without btrfs, the provider says so" {
	need_root
	unshare --mount sh -ec 'umount -a -t btrfs 2>/dev/null || true; exec "$@"' - \
		"$STRATA" query --json --provider btrfs agent_info >out.json
	is "$(jq -c '[.providers, .unusable]' out.json)" '[[],[{"provider":"btrfs","reason":"no btrfs file system is mounted"}]]'
	run -2 --separate-stderr strata query --provider none list_datasets
	is "${stderr_lines[0]}" "strata: no provider 'none'"
}
