# query restore_file and restore_dir: a restore below an allowed directory is complete, or changes
# nothing.
load helpers
load history

setup() {
	strata_setup
	mkdir -p ok bk/1
	# No failure may change the target or the files beside it.
	T=$PWD/ok
}

# restore METHOD SNAPSHOT-PATH TARGET [KEY=VALUE]...: restore from bk@1, with ok as the allowed
# directory.  Prints the reply.
restore() {
	local method=$1 from=$2 to=$3
	shift 3
	strata query --json --folder bk=bk --allow-restore ok "$method" snapshot=bk@1 snapshot_path="$from" target_path="$to" "$@"
}
file() { restore restore_file "$@"; }
dir() { restore restore_dir "$@"; }

# refused MESSAGE FUNCTION ARGUMENT...: checks that the function fails with this message, and
# changes nothing below ok.
refused() {
	local message=$1
	shift
	walk ok --content >walk.before
	run -1 --separate-stderr "$@"
	is "${stderr_lines[0]}" "strata: $message"
	walk ok --content | diff -u walk.before -
}

# nothing_left: checks that no name of an unfinished restore is left.
nothing_left() { is "$(find ok -name '.strata-restore-*')" ""; }

# odd: make a directory bk/1/d with all kinds of files and attributes.
odd() {
	mkdir -p bk/1/d/sub/deep bk/1/d/empty
	echo text >bk/1/d/sub/text
	: >bk/1/d/sub/none
	printf 'a\nb' >bk/1/d/sub/deep/"$(printf 'new\nline')"
	printf x >bk/1/d/"$(printf 'raw\377')"
	truncate -s 3M bk/1/d/sparse
	printf data | dd of=bk/1/d/sparse bs=1 seek=1M conv=notrunc status=none
	ln -s ../../../../etc/passwd bk/1/d/out
	ln -s . bk/1/d/here
	mkfifo bk/1/d/fifo
	setfattr -n user.note -v kept bk/1/d/sub/text
	setfattr -n user.dir -v "also kept" bk/1/d/sub
	setfacl -m u:1234:r bk/1/d/sub/text
	chmod 640 bk/1/d/sub/text
	chmod 6755 bk/1/d/sub/none
	chmod 3770 bk/1/d/empty
	chmod 555 bk/1/d/sub/deep
	touch -h -d '2001-02-03 04:05:06.789012345' bk/1/d/out bk/1/d/sub/text bk/1/d/fifo bk/1/d/sub/deep bk/1/d/sub bk/1/d
}

@test "a file comes back with its mode, time, attributes and holes" {
	need setfattr setfacl
	odd
	is "$(file d/sub/text "$T/text" | jq -c .)" \
		"{\"snapshot\":\"bk@1\",\"snapshot_path\":\"d/sub/text\",\"target_path\":\"$T/text\",\"size_bytes\":5,\"backup_path\":null}"
	is "$(walk ok --content | grep text | sed 's/^[^ ]* //')" "$(walk bk/1/d/sub --content | grep text | sed 's/^[^ ]* //')"
	is "$(getfattr --only-values -n user.note ok/text)" kept
	is "$(getfacl -cp ok/text)" "$(getfacl -cp bk/1/d/sub/text)"
	is "$(stat -c '%a %y' ok/text)" "$(stat -c '%a %y' bk/1/d/sub/text)"
	file d/sparse "$T/sparse" >/dev/null
	cmp ok/sparse bk/1/d/sparse
	is "$(stat -c %b ok/sparse)" "$(stat -c %b bk/1/d/sparse)"
	file d/sub/none "$T/none" >/dev/null
	is "$(stat -c '%s %a' ok/none)" "0 6755"
	nothing_left
}

@test "a directory comes back with all that is in it" {
	need setfattr setfacl
	odd
	is "$(dir d "$T/new" | jq -c .)" \
		"{\"snapshot\":\"bk@1\",\"snapshot_path\":\"d\",\"target_path\":\"$T/new\",\"backup_path\":null}"
	same_tree bk/1/d ok/new
	is "$(stat -c %b ok/new/sparse)" "$(stat -c %b bk/1/d/sparse)"
	is "$(getfattr --only-values -n user.dir ok/new/sub)" "also kept"
	# The whole snapshot is restored into an existing directory below the allowed one.
	mkdir ok/into
	dir / "$T/into/all" | jq -e '.backup_path == null' >is
	same_tree bk/1 ok/into/all
	nothing_left
}

@test "a node of strata comes back, with its hard links" {
	need setfattr setfacl
	odd
	cp -a bk/1/d/. src
	ln src/sub/text src/sub/again
	touch -d '2001-02-03' src/sub src
	begin
	strata query --json --allow-restore ok restore_dir snapshot=HEAD snapshot_path=/ target_path="$T/all" >out.json
	is "$(jq -c 'del(.snapshot)' out.json)" "{\"snapshot_path\":\"/\",\"target_path\":\"$T/all\",\"backup_path\":null}"
	same_tree src ok/all
	is "$(stat -c %h ok/all/sub/again)" 2
	is "$(stat -c %b ok/all/sparse)" "$(stat -c %b bk/1/d/sparse)"
	strata query --json --allow-restore ok restore_file snapshot=HEAD snapshot_path=sub/text target_path="$T/text" >/dev/null
	same_tree src/sub/text ok/text 2>/dev/null || cmp src/sub/text ok/text
	is "$(getfattr --only-values -n user.note ok/text)" kept
	# The same request again changes nothing.
	walk ok --content >walk.before
	strata query --json --allow-restore ok restore_dir snapshot=HEAD snapshot_path=/ target_path="$T/all" | jq -e .unchanged >is
	strata query --json --allow-restore ok restore_dir snapshot=HEAD snapshot_path=/ target_path="$T/all" overwrite=true backup=true |
		jq -e '.unchanged and .backup_path == null' >is
	walk ok --content | diff -u walk.before -
	nothing_left
}

@test "what is there stays unless overwrite says otherwise, and backup keeps it" {
	mkdir -p bk/1/d ok/d
	echo new >bk/1/f
	echo old >ok/f
	echo new >bk/1/d/in
	echo old >ok/d/in
	refused "'$T/f' exists, and differs from the snapshot" file f "$T/f"
	is "${stderr_lines[1]}" "hint: set overwrite to replace it, and backup to keep it"
	refused "'$T/f' exists, and differs from the snapshot" file f "$T/f" overwrite=false backup=true
	refused "'$T/d' exists, and differs from the snapshot" dir d "$T/d"
	local kept again
	kept=$(file f "$T/f" overwrite=true backup=true | jq -r .backup_path)
	[[ $kept =~ ^"$T"/f\.bak-[0-9]{8}T[0-9]{6}Z-[0-9a-f]+$ ]]
	is "$(cat ok/f "$kept")" $'new\nold'
	# A lost reply: the same request again changes nothing, and names the same backup.
	again=$(file f "$T/f" overwrite=true backup=true)
	is "$(jq -c '[.unchanged, .backup_path]' <<<"$again")" "[true,\"$kept\"]"
	is "$(file f "$T/f" | jq -c '[.unchanged, .backup_path]')" '[true,null]'
	# Another time is another file.
	touch ok/f
	refused "'$T/f' exists, and differs from the snapshot" file f "$T/f"
	is "$(file f "$T/f" overwrite=true | jq -c '[.unchanged, .backup_path]')" '[null,null]'
	is "$(stat -c %y ok/f)" "$(stat -c %y bk/1/f)"
	kept=$(dir d "$T/d" overwrite=true backup=true | jq -r .backup_path)
	is "$(cat ok/d/in "$kept/in")" $'new\nold'
	is "$(dir d "$T/d" overwrite=true backup=true | jq -c '[.unchanged, .backup_path]')" "[true,\"$kept\"]"
	# One more name, and it is not the same directory.
	touch -r ok/d stamp && : >ok/d/more && touch -r stamp ok/d
	refused "'$T/d' exists, and differs from the snapshot" dir d "$T/d"
	is "$(dir d "$T/d" overwrite=true | jq -c '[.unchanged, .backup_path]')" '[null,null]'
	same_tree bk/1/d ok/d
	is "$(find ok | sort | sed 's/-.*//')" "$(printf '%s\n' ok ok/d ok/d/in ok/d.bak ok/d.bak ok/f ok/f.bak | sort)"
}

@test "an attribute or an owner that differs is restored with overwrite" {
	need_root
	need setfattr
	echo text >bk/1/f
	setfattr -n user.note -v kept bk/1/f
	chown 1234:1234 bk/1/f
	cp -p bk/1/f ok/f
	chown 0:0 ok/f
	setfattr -n user.note -v other ok/f
	is "$(file f "$T/f" | jq -c .unchanged)" true
	is "$(file f "$T/f" overwrite=true | jq -c '[.unchanged, .not_kept]')" '[null,null]'
	is "$(stat -c %u:%g ok/f) $(getfattr --only-values -n user.note ok/f)" "1234:1234 kept"
	is "$(file f "$T/f" overwrite=true | jq -c .unchanged)" true
}

@test "only places below an allowed directory are targets" {
	mkdir -p bk/1/d ok/in other
	echo new >bk/1/f
	ln -s "$PWD/other" ok/link
	ln -s in ok/inner
	ln -s "$PWD/other/new" ok/dangling
	ln -s in ok/linkdir
	mkfifo ok/fifo
	run -1 --separate-stderr strata query --json --folder bk=bk restore_file snapshot=bk@1 snapshot_path=f target_path="$T/f"
	is "${stderr_lines[0]}" "strata: nothing may be restored here"
	run -1 --separate-stderr strata query --json --folder bk=bk restore_dir snapshot=bk@1 snapshot_path=d target_path="$T/f"
	is "${stderr_lines[0]}" "strata: nothing may be restored here"
	local outside="is not below a directory in which files may be restored"
	refused "'$PWD/other/f' $outside" file f "$PWD/other/f"
	refused "'/etc/strata-no' $outside" file f /etc/strata-no
	refused "'$T' $outside" dir d "$T"
	refused "'$T/' $outside" dir d "$T/"
	refused "'${T}ay' $outside" file f "${T}ay"
	refused "'target_path' has a '..'" file f "$T/in/../../other/f"
	refused "'target_path' has a '..'" dir d "$T/.."
	refused "'f' is not an absolute path" file f f
	refused "'$T/.zfs/snapshot/x' leads into '.zfs', where ZFS has its snapshots" dir d "$T/.zfs/snapshot/x"
	refused "the directory of the target: path 'link' leaves its directory or is a link" file f "$T/link/f"
	refused "the directory of the target: path 'inner' leaves its directory or is a link" file f "$T/inner/f"
	refused "the directory of the target: no file 'none'" file f "$T/none/f"
	refused "the directory of the target: open 'fifo': Not a directory" file f "$T/fifo/f"
	for overwrite in true false; do
		refused "'$T/dangling' is a symlink" file f "$T/dangling" overwrite=$overwrite
		refused "'$T/link' is a symlink" dir d "$T/link" overwrite=$overwrite
		refused "'$T/linkdir' is a symlink" file f "$T/linkdir" overwrite=$overwrite
		refused "'$T/fifo' is not a regular file" file f "$T/fifo" overwrite=$overwrite
		refused "'$T/fifo' is not a directory" dir d "$T/fifo" overwrite=$overwrite
		refused "'$T/in' is not a regular file" file f "$T/in" overwrite=$overwrite
	done
	is "$(find other)" other
	[ ! -e /etc/strata-no ]
	# Nor may a snapshot be changed.
	run -1 --separate-stderr strata query --json --folder bk=bk --allow-restore bk restore_file snapshot=bk@1 snapshot_path=f target_path="$PWD/bk/1/d/f"
	is "$stderr" "strata: '$PWD/bk/1/d/f' lies in the snapshot itself"
	run -1 --separate-stderr strata query --json --folder bk=bk --allow-restore none restore_file snapshot=bk@1 snapshot_path=f target_path="$T/f"
	is "$stderr" "strata: --allow-restore: no file 'none'"
}

@test "what is restored is a file, or a directory, of a snapshot" {
	mkdir -p bk/1/d
	echo new >bk/1/f
	ln -s f bk/1/link
	ln -s d bk/1/linkdir
	mkfifo bk/1/fifo
	ln -s 1 bk/2
	refused "'link' is a symlink, not a regular file" file link "$T/x"
	refused "'linkdir' is a symlink, not a directory" dir linkdir "$T/x"
	refused "no path 'linkdir/f' there" file linkdir/f "$T/x"
	refused "'fifo' is a fifo, not a regular file" file fifo "$T/x"
	refused "'d' is a dir, not a regular file" file d "$T/x"
	refused "'f' is a file, not a directory" dir f "$T/x"
	refused "no path 'none' there" file none "$T/x"
	refused "'snapshot_path' has a '..'" file d/../f "$T/x"
	run -1 --separate-stderr strata query --json --folder bk=bk --allow-restore ok restore_file snapshot=bk@2 snapshot_path=f target_path="$T/x"
	is "$stderr" "strata: no snapshot '2'"
	# Only true and false are booleans.
	local value
	for value in '"true"' '"yes"' 1 0 '[]' '{}' 1.0; do
		for key in overwrite backup; do
			refused "'$key' must be true or false" strata query --json --folder bk=bk --allow-restore ok restore_file \
				--params "{\"snapshot\":\"bk@1\",\"snapshot_path\":\"f\",\"target_path\":\"$T/x\",\"$key\":$value}"
		done
	done
	is "$(strata query --json --folder bk=bk --allow-restore ok restore_file \
		--params "{\"snapshot\":\"bk@1\",\"snapshot_path\":\"f\",\"target_path\":\"$T/x\",\"overwrite\":null,\"backup\":null}" | jq .size_bytes)" 4
}

# faulty AT MODE COMMAND...: with a fault at this change of the file system.
faulty() { LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$1 FAULT_MODE=$2 "${@:3}"; }

# points COMMAND...: the number of changes of the file system that a command makes.
points() {
	rm -f points
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_COUNT=$PWD/points "$@" >/dev/null
	cat points
}

# same A B: two files, or two directories, with the same names, contents and attributes.
same() { if [ -d "$1" ]; then same_tree "$1" "$2"; else cmp "$1" "$2" && is "$(stat -c '%a %y' "$2")" "$(stat -c '%a %y' "$1")"; fi; }

# again METHOD FROM: the same request once more succeeds, leaves nothing, and the old file is in the backup.
again() {
	local kept
	kept=$(restore "$1" "$2" "$T/t" overwrite=true backup=true | jq -r .backup_path)
	same "bk/1/$2" ok/t
	same old/t "$kept"
	nothing_left
	is "$(find ok -maxdepth 1 -name 't.bak-*')" "ok/${kept##*/}"
}

# interrupted METHOD FROM MODE: a restore over old/t is killed at every point.
interrupted() {
	local method=$1 from=$2 mode=$3 n at
	rm -rf ok && cp -a old ok
	n=$(points restore "$method" "$from" "$T/t" overwrite=true backup=true)
	((n > 8))
	for ((at = 1; at <= n; at++)); do
		rm -rf ok && cp -a old ok
		run faulty "$at" "$mode" restore "$method" "$from" "$T/t" overwrite=true backup=true
		((status == 137 || status == 0)) || { echo "$method $mode at $at: $output"; return 1; }
		if same old/t ok/t >/dev/null 2>&1; then
			is "$(find ok -maxdepth 1 -name 't.bak-*')" ""
		else
			same "bk/1/$from" ok/t
		fi
		# Any restore into the directory clears up.
		[ $((at % 2)) = 0 ] || restore restore_file small "$T/other" >/dev/null
		again "$method" "$from" || { echo "$method $mode at $at"; return 1; }
	done
}

@test "a restore that is killed leaves the old or the new one, and the next one clears up" {
	mkdir -p bk/1/d/sub old/t
	echo small >bk/1/small
	head -c 300000 /dev/urandom >bk/1/d/large
	echo new >bk/1/d/sub/in
	ln -s in bk/1/d/sub/link
	echo old >old/t/in
	interrupted restore_dir d kill
	interrupted restore_dir d killafter
	rm -r old/t
	echo old >old/t
	interrupted restore_file d/large kill
	interrupted restore_file d/large killafter
}

@test "a restore on a disk that fills up fails, and leaves everything as it was" {
	local n at mode
	mkdir -p bk/1/d/sub ok/t
	head -c 300000 /dev/urandom >bk/1/d/large
	echo new >bk/1/d/sub/in
	echo old >ok/t/in
	walk ok --content >walk.old
	cp -a ok full
	n=$(points dir d "$T/t" overwrite=true backup=true)
	for mode in ENOSPC EIO EDQUOT EACCES short; do
		for ((at = 1; at <= n; at++)); do
			rm -rf ok && cp -a full ok
			run -1 --separate-stderr faulty "$at" "$mode" dir d "$T/t" overwrite=true backup=true || {
				# An attribute that may not be set is left out.
				if [[ $status$mode == 0EACCES && $output == *not_kept* ]]; then continue; fi
				# What fails when all is done, such as the removal of the note, changes nothing.
				if [ "$status" = 0 ] && same_tree bk/1/d ok/t; then continue; fi
				echo "$mode at $at: $status $stderr"
				return 1
			}
			[[ $stderr == "strata: "* ]]
			# A name that could not be removed is removed by the next restore.
			file d/sub/in "$T/in" >/dev/null && rm ok/in && touch -r full ok
			# The last step is to write the directory to disk.  The restore is complete then.
			[[ $stderr != *"cannot sync the directory of 't'"* ]] || same_tree full/t ok/t >/dev/null || {
				dir d "$T/t" overwrite=true backup=true | jq -e .unchanged >is
				same_tree full/t ok/t.bak-*
				continue
			}
			walk ok --content | diff -u walk.old - || { echo "$mode at $at: $stderr"; return 1; }
		done
	done
}

@test "what an ordinary user cannot keep of a file is told" {
	need_root
	prepare_nobody
	mkdir -p bk/1 mine
	echo root >bk/1/file
	chown 65534:65534 mine
	nobody "$STRATA" query --json --folder bk=bk --allow-restore mine restore_file snapshot=bk@1 snapshot_path=file \
		target_path="$PWD/mine/file" >out.json
	is "$(jq -c .not_kept out.json)" '["owner"]'
	is "$(cat mine/file)" root
}
