# query restore_file and restore_dir: files of snapshots come back below an allowed directory, whole or not at all.
load helpers
load history

setup() {
	strata_setup
	mkdir -p ok bk/1
	# The target and what lies beside it must stay as they are, whatever fails.
	T=$PWD/ok
}

# restore METHOD SNAPSHOT-PATH TARGET [KEY=VALUE]...: the reply, from bk@1 to below ok.
restore() {
	local method=$1 from=$2 to=$3
	shift 3
	strata query --json --folder bk=bk --allow-restore ok "$method" snapshot=bk@1 snapshot_path="$from" target_path="$to" "$@"
}
file() { restore restore_file "$@"; }
dir() { restore restore_dir "$@"; }

# refused MESSAGE FUNCTION ARGUMENT...: fails with this message, and changes nothing below ok.
refused() {
	local message=$1
	shift
	walk ok --content >walk.before
	run -1 --separate-stderr "$@"
	is "${stderr_lines[0]}" "strata: $message"
	walk ok --content | diff -u walk.before -
}

# nothing_left: no name of an unfinished restore.
nothing_left() { is "$(find ok -name '.strata-restore-*')" ""; }

# odd: a directory bk/1/d with everything that a directory can have.
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
	# The whole snapshot, into a directory that is there, below the allowed one.
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
	strata query --allow-restore ok restore_file snapshot=HEAD snapshot_path=sub/text target_path="$T/text" >/dev/null
	same_tree src/sub/text ok/text 2>/dev/null || cmp src/sub/text ok/text
	is "$(getfattr --only-values -n user.note ok/text)" kept
	# Asked again, nothing is done.
	walk ok --content >walk.before
	strata query --json --allow-restore ok restore_dir snapshot=HEAD snapshot_path=/ target_path="$T/all" | jq -e .unchanged >is
	strata query --json --allow-restore ok restore_dir snapshot=HEAD snapshot_path=/ target_path="$T/all" overwrite=true backup=true |
		jq -e '.unchanged and .backup_path == null' >is
	walk ok --content | diff -u walk.before -
	nothing_left
}
