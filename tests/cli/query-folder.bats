# query --folder: folders of snapshots, which are plain directories.
load helpers
load history

# strata: as in helpers.bash, but a btrfs that another test has mounted is not asked.
strata() {
	if [ "$1" = query ]; then
		set -- query --provider strata "${@:2}"
	fi
	"$STRATA" "$@"
}

# asking METHOD...: print the reply for the folder bk, on one line.
asking() { strata query --json --folder bk=bk "$@"; }

# q JQ-FILTER METHOD...: print the result of the filter for the reply, compact.
q() {
	local filter=$1
	shift
	asking "$@" | jq -c "$filter"
}

# snap NAME DAY: make the directory of a snapshot of this day of January 2025.
snap() { mkdir -p "bk/$1" && touch -d "2025-01-$2 00:00:00" "bk/$1"; }

# days: make bk as rsnapshot does.  daily.2 is the oldest.  All snapshots share the files all and
# many.
days() {
	mkdir -p bk/daily.2/d
	echo one >bk/daily.2/a
	echo keep >bk/daily.2/d/keep
	echo gone >bk/daily.2/d/gone
	touch -d 2024-12-01 bk/daily.2/*  bk/daily.2/d/*
	cp -al bk/daily.2 bk/daily.1
	rm bk/daily.1/a
	echo two >bk/daily.1/a
	cp -al bk/daily.1 bk/daily.0
	rm bk/daily.0/d/gone
	echo new >bk/daily.0/new
	for i in 0 1 2; do snap daily.$i 0$((9 - i)); done
}

@test "a folder is a dataset without an environment and beside one" {
	mkdir -p bk/daily.0
	is "$(q '[.datasets[] | [.name, .type, .mountpoint]]' list_datasets)" "[[\"bk\",\"folder\",\"$PWD/bk\"]]"
	is "$(q .providers agent_info)" '["dir"]'
	is "$(strata query --json --folder bk list_datasets | jq -r '.datasets[].name')" "${PWD#/}/bk"
	is "$(q '[.snapshots[].name]' list_snapshots)" '["bk@daily.0"]'
	three
	is "$(q '[.datasets[].name]' list_datasets)" '["strata","bk"]'
	is "$(q .providers agent_info)" '["strata","dir"]'
	is "$(q '[.snapshots[].dataset]' list_snapshots)" '["strata","strata","strata","strata","bk"]'
	is "$(q '[.snapshots[].dataset]' list_snapshots dataset=bk)" '["bk"]'
	# A snapshot without its dataset is one of the environment.
	is "$(q .content read_file snapshot=HEAD path=one)" '"one\n"'
	run -1 --separate-stderr asking list_dir snapshot=daily.0 path=
	[[ $stderr == "strata: no node or tag 'daily.0'"* ]]
	fails 1 "strata: the snapshots must be of one dataset" asking diff_snapshots snap_a=HEAD snap_b=bk@daily.0
	fails 1 "strata: the snapshots must be of one dataset" asking size_delta snap_a=HEAD snap_b=bk@daily.0
}

@test "a folder needs a name that can be asked for" {
	mkdir -p .hidden/daily.0 with=equals/daily.0 bk
	fails 1 "strata: folder 'none': no file 'none'" strata query --folder none list_datasets
	touch file
	run -1 --separate-stderr strata query --folder file list_datasets
	[[ $stderr == "strata: folder 'file': "*"Not a directory" ]]
	is "$(strata query --json --folder h=.hidden list_snapshots | jq -r '.snapshots[].name')" h@daily.0
	run -1 --separate-stderr strata query --folder with=equals list_datasets
	run -1 --separate-stderr strata query --folder ./with=equals list_datasets
	[[ $stderr == *"cannot be the name of a dataset"*"give it a name: NAME="* ]]
	is "$(strata query --json --folder w=./with=equals list_datasets | jq -r '.datasets[].name')" w
	# If the same folder is given twice, it counts once.  Two folders of one name are an error.
	is "$(strata query --json --folder bk --folder ./bk list_datasets | jq '.datasets | length')" 1
	fails 1 "strata: two folders have the name 'x'" strata query --folder x=bk --folder x=.hidden list_datasets
	is "$(strata query --json --folder x=bk --folder y=bk list_datasets | jq -c '[.datasets[].name]')" '["x","y"]'
	fails 1 "strata: the snapshot needs its dataset: DATASET@NAME" \
		strata query --folder x=bk --folder y=bk list_dir snapshot=daily.0 path=
}

@test "snapshots are the directories of a folder, by the time of their names, else of themselves" {
	mkdir bk
	snap daily.1 03
	snap daily.0 03
	snap daily.10 03
	snap plain 02
	mkdir bk/2025-01-01-120000 bk/autosnap_2025-01-04_00:30:00_hourly bk/20250105T000000Z bk/.sync 'bk/with+plus' bk/$'n\xff'
	ln -s daily.0 bk/latest
	touch bk/file
	mkfifo bk/pipe
	is "$(q '[.snapshots[] | [.snap, (.creation | todate)]]' list_snapshots)" \
		'[["2025-01-01-120000","2025-01-01T12:00:00Z"],["plain","2025-01-02T00:00:00Z"],["daily.10","2025-01-03T00:00:00Z"],["daily.1","2025-01-03T00:00:00Z"],["daily.0","2025-01-03T00:00:00Z"],["autosnap_2025-01-04_00:30:00_hourly","2025-01-04T00:30:00Z"],["20250105T000000Z","2025-01-05T00:00:00Z"]]'
	is "$(q '[.left_out, .snapshots[0].used, .snapshots[0].refer]' list_snapshots)" '[3,null,null]'
	is "$(q '[.snapshots[].snap]' list_snapshots after=2025-01-03 before=2025-01-03)" '["daily.10","daily.1","daily.0"]'
	is "$(q '[.truncated, .left_out]' list_snapshots max_results=7)" '[false,3]'
	is "$(q '[.truncated, (.snapshots | length)]' list_snapshots max_results=6)" '[true,6]'
	for name in latest file pipe .sync none; do
		run -1 asking list_dir snapshot=bk@$name path=
	done
	fails 1 "strata: no snapshot 'latest'" asking read_file snapshot=bk@latest path=a
	fails 1 "strata: 'snapshot' must be a snapshot's name: DATASET@NAME" asking list_dir snapshot=bk@.. path=
}

@test "folders of Time Machine, samba and others: names are times, unfinished backups are left alone" {
	mkdir -p bk/2025-01-01-120000 bk/2025-01-02-120000.backup bk/2025-01-03-120000.inprogress \
		bk/_delete.4711 bk/@GMT-2025.01.04-12.00.00 bk/20250105-120000-137 bk/same bk/@same bk/@.x
	ln -s 2025-01-01-120000 bk/Latest
	ln -s same bk/@linked
	touch -d 2025-01-06 bk/same
	echo in >bk/@GMT-2025.01.04-12.00.00/f
	echo plain >bk/same/f
	touch -d 2025-01-06 bk/same
	is "$(q '[.left_out, [.snapshots[] | [.snap, (.creation | todate)]]]' list_snapshots)" \
		'[2,[["2025-01-01-120000","2025-01-01T12:00:00Z"],["2025-01-02-120000.backup","2025-01-02T12:00:00Z"],["GMT-2025.01.04-12.00.00","2025-01-04T12:00:00Z"],["20250105-120000-137","2025-01-05T12:00:00Z"],["same","2025-01-06T00:00:00Z"]]]'
	is "$(q .content read_file snapshot=bk@GMT-2025.01.04-12.00.00 path=f)" '"in\n"'
	is "$(q .content read_file snapshot=bk@same path=f)" '"plain\n"'
	for name in 2025-01-03-120000.inprogress _delete.4711 Latest linked .x; do
		run -1 asking list_dir snapshot=bk@$name path=
	done
	fails 1 "strata: no snapshot 'Latest'" asking list_dir snapshot=bk@Latest path=
	fails 1 "strata: no snapshot 'linked'" asking list_dir snapshot=bk@linked path=
}

@test "rsnapshot: a backup point in each snapshot is a dataset of its own" {
	mkdir -p bk/daily.1/localhost/etc bk/daily.0/localhost/etc bk/daily.0/web.lan/etc bk/hourly.0/web.lan/etc
	echo one >bk/daily.1/localhost/etc/hosts
	echo two >bk/daily.0/localhost/etc/hosts
	echo web >bk/hourly.0/web.lan/etc/hosts
	ln -s daily.0/localhost bk/hourly.0/localhost
	snap daily.1 01
	snap daily.0 02
	snap hourly.0 03
	is "$(q '[.snapshots[].name]' list_snapshots dataset=bk/localhost)" '["bk/localhost@daily.1","bk/localhost@daily.0"]'
	is "$(q '[.snapshots[].name]' list_snapshots dataset=bk/web.lan/etc)" '["bk/web.lan/etc@daily.0","bk/web.lan/etc@hourly.0"]'
	is "$(q '[.versions[] | [.snapshot, .size]]' file_history dataset=bk/localhost path=etc/hosts)" \
		'[["bk/localhost@daily.1",4],["bk/localhost@daily.0",4]]'
	is "$(q .content read_file snapshot=bk/web.lan@hourly.0 path=/etc/hosts)" '"web\n"'
	is "$(q .content read_file snapshot=bk@hourly.0 path=web.lan/etc/hosts)" '"web\n"'
	is "$(q '[.changes[] | [.op, .path]]' diff_snapshots snap_a=bk/localhost@daily.1 snap_b=bk/localhost@daily.0)" '[["M","etc/hosts"]]'
	# Only the folder itself is listed.
	is "$(q '[.datasets[].name]' list_datasets)" '["bk"]'
	is "$(q '[.snapshots[].dataset] | unique' list_snapshots)" '["bk"]'
	fails 1 "strata: no snapshot 'hourly.0'" asking list_dir snapshot=bk/localhost@hourly.0 path=
	for path in none localhost/etc/hosts localhost/../web.lan ./localhost localhost/ .. localhost//etc; do
		fails 1 "strata: no dataset 'bk/$path'" asking list_snapshots dataset=bk/$path
	done
}

@test "cadence and stale snapshots of folders" {
	mkdir bk
	snap hourly.0 09
	snap daily.0 08
	snap daily.1 02
	snap other 01
	is "$(q '[.dataset, .total_snapshots, .biggest_gap_seconds, .biggest_gap_between, .total_unique_bytes]' snapshot_cadence dataset=bk)" \
		'["bk",4,518400,["bk@daily.1","bk@daily.0"],null]'
	is "$(q '[.by_class[] | [.class, .count, (.earliest_creation | todate), (.latest_creation | todate), .unique_bytes]]' snapshot_cadence dataset=bk)" \
		'[["hourly",1,"2025-01-09T00:00:00Z","2025-01-09T00:00:00Z",null],["daily",2,"2025-01-02T00:00:00Z","2025-01-08T00:00:00Z",null],["other",1,"2025-01-01T00:00:00Z","2025-01-01T00:00:00Z",null]]'
	is "$(q '[.dataset, .biggest_gap_seconds, .biggest_gap_between]' snapshot_cadence)" '[null,null,null]'
	# older_than excludes snapshots of exactly that time.
	is "$(q '[.older_than_unix, .truncated, [.snapshots[].snap]]' stale_snapshots older_than=2025-01-08)" \
		'[1736294400,false,["other","daily.1"]]'
	is "$(q '[.truncated, [.snapshots[].snap]]' stale_snapshots older_than=2025-01-08 max_results=2)" '[false,["other","daily.1"]]'
	is "$(q '[.truncated, .cursor, [.snapshots[].snap]]' stale_snapshots older_than=2025-01-08 max_results=1)" '[true,"1",["other"]]'
	is "$(q '[.truncated, [.snapshots[].snap]]' stale_snapshots older_than=2025-01-08 max_results=1 cursor=1)" '[false,["daily.1"]]'
	rm -r bk/*
	is "$(q '[.total_snapshots, .by_class, .earliest_creation, .biggest_gap_seconds]' snapshot_cadence dataset=bk)" '[0,[],null,null]'
}

@test "the methods that follow a path answer on folders" {
	days
	is "$(q '[.versions[] | [.snapshot, .size]]' file_history dataset=bk path=a)" \
		'[["bk@daily.2",4],["bk@daily.1",4],["bk@daily.0",4]]'
	is "$(q '[.versions[].snapshots | map(.snapshot)]' versions_of dataset=bk path=a)" '[["bk@daily.2"],["bk@daily.1","bk@daily.0"]]'
	is "$(q '[.last.snapshot, .last.op]' blame_path dataset=bk path=a)" '["bk@daily.1","M"]'
	is "$(q '[.present, .last.snapshot, .last.op]' blame_path dataset=bk path=d)" '[true,"bk@daily.0","M"]'
	is "$(q '[.lines[] | [.snapshot, .text]]' blame_path dataset=bk path=a lines=true)" '[["bk@daily.1","two"]]'
	is "$(q '[.deleted, .truncated]' find_deleted dataset=bk)" '[[{"path":"d/gone","type":"file"}],false]'
	is "$(q '[.deleted, .truncated]' find_deleted dataset=bk max_results=1)" '[[{"path":"d/gone","type":"file"}],false]'
	is "$(q '[.transition.from_snapshot, .transition.to_snapshot]' bisect_change dataset=bk path=a predicate='{"kind":"contains","needle":"two"}')" \
		'["bk@daily.2","bk@daily.1"]'
	is "$(q '[.matches[] | [.path, .text, .first.snapshot, .last.snapshot]]' grep_history dataset=bk pattern='one|two|gone')" \
		'[["a","one","bk@daily.2","bk@daily.2"],["d/gone","gone","bk@daily.2","bk@daily.1"],["a","two","bk@daily.1","bk@daily.0"]]'
	# d/keep is one inode in all three snapshots, so it is read once.
	is "$(q .searched_contents grep_history dataset=bk pattern=x)" 5
	is "$(q '[.first.snapshot]' first_appearance dataset=bk path=new)" '["bk@daily.0"]'
	is "$(q '[.last.snapshot]' last_appearance dataset=bk path=d/gone)" '["bk@daily.1"]'
}

@test "unchanged files of a folder are not read" {
	need strace
	days
	traced strace -f -o trace.txt -e trace=read,pread64,openat,openat2,open "$STRATA" query --json --folder bk=bk file_history dataset=bk path=d/keep >out.json
	is "$(jq -c '[.versions[].present]' out.json)" '[true,true,true]'
	run ! grep -E 'pread64?\([0-9]+, "keep' trace.txt
	# Files are compared by inode.  d/keep is not read, and a file with a new inode is read.
	traced strace -f -o trace.txt -e trace=pread64 "$STRATA" query --json --folder bk=bk diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.1 >out.json
	is "$(jq -c '[.changes[].path]' out.json)" '["a"]'
	run ! grep -F '"keep' trace.txt
	grep -F '"one' trace.txt
}

@test "directories that have not changed for some time give the same answers" {
	days
	: >bk/daily.2/empty
	ln bk/daily.2/empty bk/daily.1/empty
	for method in "grep_history dataset=bk pattern=." "content_grep snapshot=bk@daily.0 pattern=." \
		"diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0" "find_deleted dataset=bk"; do
		# shellcheck disable=SC2086 # words
		asking $method >>new
	done
	sleep 2.5
	for method in "grep_history dataset=bk pattern=." "content_grep snapshot=bk@daily.0 pattern=." \
		"diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0" "find_deleted dataset=bk"; do
		# shellcheck disable=SC2086 # words
		asking $method >>old
	done
	diff new old
	grep -q daily.2 old
}

@test "snapshots of folders are compared" {
	days
	is "$(q '[.changes[] | [.op, .type, .path]]' diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0)" \
		'[["M","file","a"],["-","file","d/gone"],["+","file","new"]]'
	is "$(q '[.truncated, .cursor]' diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0 max_results=3)" '[false,null]'
	is "$(q '[.truncated, .cursor]' diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0 max_results=2)" '[true,"2"]'
	is "$(q '[.changes[].path]' diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.0 max_results=2 cursor=2)" '["new"]'
	is "$(q .written_bytes size_delta snap_a=bk@daily.2 snap_b=bk@daily.0)" 8
	is "$(q .changes diff_snapshots snap_a=bk@daily.2 snap_b=bk@daily.2)" '[]'
	is "$(q .diff file_diff snap_a=bk@daily.2 snap_b=bk@daily.1 path=a)" '"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"'
	is "$(q '[.present_in_a, .present_in_b, .size_a, .size_b, .diff]' file_diff snap_a=bk@daily.1 snap_b=bk@daily.0 path=new)" \
		'[false,true,null,4,"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n"]'
	is "$(q '[.present_in_a, .present_in_b, .identical, .diff]' file_diff snap_a=bk@daily.1 snap_b=bk@daily.0 path=d/gone)" \
		'[true,false,false,"--- a/d/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"]'
	is "$(q '[.encoding, .diff]' file_diff snap_a=bk@daily.1 snap_b=bk@daily.0 path=none)" '["missing",""]'
}

@test "a renamed file or directory is a rename, in copies as in hard links" {
	for copy in -al -a; do
		rm -rf bk
		mkdir -p bk/a/lib/sub bk/a/other
		echo text >bk/a/lib/sub/file
		echo more >bk/a/lib/more
		ln -s more bk/a/lib/link
		echo single >bk/a/single
		echo stays >bk/a/other/stays
		cp $copy bk/a bk/b
		mv bk/b/lib bk/b/source
		mv bk/b/single bk/b/other/moved
		touch -r bk/a/other bk/b/other
		is "$(q '[.changes[] | [.op, .type, .path, .new_path]]' diff_snapshots snap_a=bk@a snap_b=bk@b)" \
			'[["R","file","single","other/moved"],["R","dir","lib","source"]]'
		is "$(q .deleted find_deleted dataset=bk)" '[]'
		is "$(q .written_bytes size_delta snap_a=bk@a snap_b=bk@b)" 0
		# After a change in it, the directory is no longer the same.
		echo changed >bk/b/source/sub/file
		[ $copy = -a ] || continue
		is "$(q '[.changes[] | [.op, .path, .new_path]]' diff_snapshots snap_a=bk@a snap_b=bk@b)" \
			'[["-","lib",null],["-","lib/link",null],["-","lib/sub",null],["-","lib/sub/file",null],["R","single","other/moved"],["+","source",null],["+","source/link",null],["R","lib/more","source/more"],["+","source/sub",null],["+","source/sub/file",null]]'
	done
}

@test "equal content with other times is no other content" {
	mkdir -p bk/a bk/b bk/c
	echo same >bk/a/f
	echo same >bk/b/f
	echo else >bk/c/f
	touch -d 2024-01-01 bk/a/f bk/c/f
	touch -d 2024-02-02 bk/b/f
	touch -d 2025-01-01 bk/a bk/b bk/c
	is "$(q '[.changes[] | [.op, .path, .what]]' diff_snapshots snap_a=bk@a snap_b=bk@b)" '[["M","f",["mtime"]]]'
	# Size and time are the same, but the inode differs, so only the content shows the change.
	is "$(q '[.changes[] | [.op, .path, .what]]' diff_snapshots snap_a=bk@a snap_b=bk@c)" '[["M","f",["content"]]]'
	is "$(q .identical file_diff snap_a=bk@a snap_b=bk@b path=f)" true
	is "$(q .identical file_diff snap_a=bk@a snap_b=bk@c path=f)" false
	is "$(q '[.identical, .truncated_a]' file_diff snap_a=bk@a snap_b=bk@b path=f max_bytes=2)" '[true,true]'
	is "$(q .identical file_diff snap_a=bk@a snap_b=bk@c path=f max_bytes=2)" false
	is "$(q .written_bytes size_delta snap_a=bk@a snap_b=bk@b)" 0
	for name in a b c; do snap $name 01; done
	is "$(q '[.versions[] | .snapshots | length]' versions_of dataset=bk path=f)" '[2,1]'
	touch -d 2024-01-01 bk/b/f
	is "$(q .changes diff_snapshots snap_a=bk@a snap_b=bk@b)" '[]'
	is "$(q .last.snapshot blame_path dataset=bk path=f)" '"bk@c"'
	rm -r bk/c
	is "$(q .last.snapshot blame_path dataset=bk path=f)" '"bk@a"'
}

@test "a path that is a file in one snapshot and a directory in the next" {
	mkdir -p bk/1/p/q bk/2 bk/3
	echo in >bk/1/p/q/f
	echo file >bk/2/p
	ln -s none bk/3/p
	for i in 1 2 3; do snap $i 0$i; done
	is "$(q '[.versions[].present]' file_history dataset=bk path=p/q/f)" '[true,false,false]'
	is "$(q '[.versions[] | [.size, .is_symlink]]' file_history dataset=bk path=p | jq -c '[.[1], .[2]]')" '[[5,false],[4,true]]'
	is "$(q '[.changes[] | [.op, .type, .path, .what]]' diff_snapshots snap_a=bk@1 snap_b=bk@2 | jq -c '[.[] | [.[0], .[1], .[2]]]')" \
		'[["M","file","p"],["-","dir","p/q"],["-","file","p/q/f"]]'
	is "$(q '[.changes[] | [.op, .type, .path]]' diff_snapshots snap_a=bk@2 snap_b=bk@1)" \
		'[["M","dir","p"],["+","dir","p/q"],["+","file","p/q/f"]]'
	is "$(q '[.deleted[].path]' find_deleted dataset=bk before=2025-01-02)" '["p/q","p/q/f"]'
	is "$(q '[.versions[].size]' versions_of dataset=bk path=p)" '[5]'
	fails 1 "strata: 'p' is a dir, not a regular file" asking file_diff snap_a=bk@1 snap_b=bk@2 path=p
	is "$(q '[.present_in_a, .present_in_b]' file_diff snap_a=bk@1 snap_b=bk@2 path=p/q/f)" '[true,false]'
}

@test "a condition that changes twice is found at one of its changes" {
	mkdir bk
	for i in 1 2 3 4 5 6 7; do
		snap day.$((9 - i)) 0$i
		echo "$i" >bk/day.$((9 - i))/n
		touch -d 2025-01-0$i bk/day.$((9 - i))
	done
	# The condition is true in the snapshots 3 to 4, and from 6 on.
	for i in 3 4 6 7; do touch bk/day.$((9 - i))/there && touch -d 2025-01-0$i bk/day.$((9 - i)); done
	reply=$(asking bisect_change dataset=bk path=there predicate='{"kind":"exists"}')
	is "$(jq -c '[.earliest_value, .latest_value, .transition.from_value, .transition.to_value]' <<<"$reply")" '[false,true,false,true]'
	[[ $(jq -r .transition.to_snapshot <<<"$reply") =~ ^bk@day\.(6|3)$ ]]
	# If both ends have the same value, no change is reported, although there are two.
	rm bk/day.3/there bk/day.2/there
	touch -d 2025-01-06 bk/day.3
	touch -d 2025-01-07 bk/day.2
	is "$(q '[.transition, .earliest_value, .latest_value]' bisect_change dataset=bk path=there predicate='{"kind":"exists"}')" '[null,false,false]'
}

@test "the lines behind a hole are searched, in folders as in nodes" {
	mkdir -p bk/daily.0
	{ echo needle 1; head -c 65536 /dev/zero | tr '\0' '\n'; } >src/sparse
	truncate -s 200K src/sparse
	printf ' end\nneedle 2\n' >>src/sparse
	cp --sparse=always src/sparse bk/daily.0/sparse
	begin
	for snapshot in HEAD bk@daily.0; do
		is "$(q '[.matches[] | [.line, .text]]' content_grep snapshot=$snapshot pattern=needle)" \
			'[[1,"needle 1"],[65539,"needle 2"]]'
	done
}

@test "symlinks, FIFOs and devices are named, never followed or opened" {
	mkdir -p bk/a/dir real
	echo secret >real/file
	ln -s "$PWD/real" bk/a/todir
	ln -s "$PWD/real/file" bk/a/tofile
	ln -s ../../../real bk/a/dir/up
	ln -s a bk/linked
	mkfifo bk/a/fifo
	[ "$(id -u)" != 0 ] || mknod bk/a/null c 1 3
	is "$(q '[.entries[] | select(.name != "null") | [.name, .type]]' list_dir snapshot=bk@a path=)" \
		'[["dir","dir"],["fifo","other"],["todir","symlink"],["tofile","symlink"]]'
	is "$(q '.entries[0].target' list_dir snapshot=bk@a path=dir)" '"../../../real"'
	fails 1 "strata: 'tofile' is a symlink, not a regular file" asking read_file snapshot=bk@a path=tofile
	fails 1 "strata: no path 'todir/file' there" asking read_file snapshot=bk@a path=todir/file
	fails 1 "strata: 'todir' is a symlink, not a directory" asking list_dir snapshot=bk@a path=todir
	fails 1 "strata: no path 'dir/up/file' there" asking checksum_file snapshot=bk@a path=dir/up/file
	fails 1 "strata: 'path' has a '..'" asking read_file snapshot=bk@a path=dir/../../../real/file
	fails 1 "strata: 'fifo' is a fifo, not a regular file" asking read_file snapshot=bk@a path=fifo
	is "$(q .matches content_grep snapshot=bk@a pattern=secret)" '[]'
	is "$(q '[.matches[].path]' find_files snapshot=bk@a pattern='f*')" '["fifo"]'
	is "$(q '.versions[0].is_symlink' file_history dataset=bk path=tofile)" true
	fails 1 "strata: no snapshot 'linked'" asking list_dir snapshot=bk@linked path=
	if [ "$(id -u)" = 0 ]; then
		fails 1 "strata: 'null' is a char, not a regular file" asking read_file snapshot=bk@a path=null
	fi
	need strace
	traced strace -f -o trace.txt -e trace=open,openat,openat2 "$STRATA" query --json --folder bk=bk content_grep snapshot=bk@a pattern=. >out.json
	run ! grep -E '"(.*/)?(fifo|null|todir|tofile|up)"' trace.txt
}

@test "names that are not UTF-8 go in and out" {
	mkdir bk
	mkdir "bk/a"
	name=$'n\xff'
	echo raw >"bk/a/$name"
	echo plain >bk/a/m
	run -0 asking list_dir snapshot=bk@a path=
	[[ $output == *'"name": "m"'*'"name": "n\udcff"'* ]]
	is "$(q .content read_file snapshot=bk@a path="$name")" '"raw\n"'
	is "$(q .content read_file snapshot=bk@a path='"n\udcff"')" '"raw\n"'
	is "$(q '.versions[0].size' file_history dataset=bk path="$name")" 4
	run -1 asking read_file snapshot=bk@a 'path="m\u0000"'
}

# deep DIR LEVELS TEXT: make a file 'leaf' with the text, LEVELS directories below DIR.
deep() {
	python3 - "$@" <<-'END'
		import os, sys
		here = os.open(sys.argv[1], os.O_RDONLY)
		for i in range(int(sys.argv[2])):
		    os.mkdir("level", dir_fd=here)
		    below = os.open("level", os.O_RDONLY, dir_fd=here)
		    os.close(here)
		    here = below
		leaf = os.open("leaf", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here)
		os.write(leaf, sys.argv[3].encode())
	END
}

@test "directories may be nested 1,200 levels deep" {
	need python3
	mkdir -p bk/a bk/b
	deep bk/a 1200 one
	deep bk/b 1200 two!
	path=$(printf 'level/%.0s' {1..1200})leaf
	is "$(q '[.matches[].path | length]' find_files snapshot=bk@a pattern=leaf)" "[${#path}]"
	is "$(q '[.matches[].text]' content_grep snapshot=bk@a pattern=.)" '["one"]'
	is "$(q .content read_file snapshot=bk@a path="$path")" '"one"'
	is "$(q '[.total_bytes, .walked_entries]' size_breakdown snapshot=bk@a path=)" '[3,1201]'
	is "$(q '[.changes[] | select(.type == "file") | .op]' diff_snapshots snap_a=bk@a snap_b=bk@b)" '["M"]'
	is "$(q '[.versions[].size]' file_history dataset=bk path="$path" | jq -c sort)" '[3,4]'
	find bk -delete
}

@test "a directory of many entries is listed in order" {
	mkdir -p bk/a
	(cd bk/a && seq -f 'f%04g' 0 999 | xargs touch)
	seq -f 'f%04g' 0 999 >expected
	asking list_dir snapshot=bk@a path= | jq -r '.entries[].name' | diff expected -
	is "$(q .truncated list_dir snapshot=bk@a path= max_entries=1000)" false
	is "$(q '[.truncated, .cursor]' list_dir snapshot=bk@a path= max_entries=999)" '[true,"999"]'
}

@test "what cannot be read is counted, and is an error where it was asked for" {
	mkdir -p bk/a/closed bk/a/named bk/b
	echo x >bk/a/closed/x
	echo y >bk/a/named/y
	echo z >bk/a/z
	echo w >bk/a/w
	chmod 000 bk/a/closed bk/a/z
	chmod 444 bk/a/named
	prepare_nobody
	[ "$(id -u)" != 0 ] || chown -R 65534:65534 bk
	as_nobody() { nobody "$STRATA" query --provider strata --json --folder bk=bk "$@" >out.json 2>err.txt; }
	as_nobody find_files snapshot=bk@a pattern='*'
	is "$(jq -c '[[.matches[] | [.path, .type]], .unreadable]' out.json)" \
		'[[["closed","dir"],["named","dir"],["named/y","file"],["w","file"],["z","file"]],1]'
	as_nobody list_dir snapshot=bk@a path=named
	is "$(jq -c .entries out.json)" '[{"name":"y","type":"unknown"}]'
	as_nobody content_grep snapshot=bk@a pattern=.
	# closed, named/y and z are not searched.
	is "$(jq -c '[[.matches[].path], .unreadable]' out.json)" '[["w"],3]'
	as_nobody size_breakdown snapshot=bk@a path=
	is "$(jq -c '[.total_bytes, .unreadable]' out.json)" '[4,1]'
	# A directory that is unreadable in one snapshot counts as changed.  Its entries are not
	# known.
	mkdir bk/b/closed bk/b/named
	cp -p bk/a/z bk/b/z 2>/dev/null || touch bk/b/z
	as_nobody diff_snapshots snap_a=bk@a snap_b=bk@b
	is "$(jq -c '[([.changes[] | select(.path == "closed") | .op]), .unreadable > 0]' out.json)" '[["M"],true]'
	is "$(jq -c '[.changes[] | select(.path == "closed/x")]' out.json)" '[]'
	as_nobody find_deleted dataset=bk
	is "$(jq -c '[[.deleted[].path], .unreadable > 0]' out.json)" '[["named/y","w"],true]'
	run ! as_nobody list_dir snapshot=bk@a path=closed
	[[ $(cat err.txt) == *"closed"*"Permission denied" ]]
	run ! as_nobody read_file snapshot=bk@a path=z
	run ! as_nobody file_history dataset=bk path=closed/x
	[[ $(cat err.txt) == "strata: the attributes of 'x' cannot be read" ]]
	chmod 755 bk/a/closed bk/a/named
	chmod 644 bk/a/z
	as_nobody find_files snapshot=bk@a pattern='*'
	is "$(jq -c .unreadable out.json)" null
}

# answer N: wait for line N of the agent's answers, and print it.
answer() {
	for _ in {1..500}; do
		[ "$(wc -l <answers)" -lt "$1" ] || break
		sleep 0.02
	done
	sed -n "$1p" answers
}

@test "an agent that keeps the listing of a folder sees a change of the folder" {
	mkdir -p bk/2024-01-01 bk/2024-01-02
	sleep 2.1
	mkfifo requests
	touch answers
	"$STRATA_AGENT" query --folder bk=bk <requests >>answers &
	agent=$!
	exec 7>requests
	list='{"jsonrpc":"2.0","id":1,"method":"list_snapshots"}'
	echo "$list" >&7
	is "$(answer 1 | jq -c '[.result.snapshots[].snap]')" '["2024-01-01","2024-01-02"]'
	echo "$list" >&7
	is "$(answer 2 | jq -c '[.result.snapshots[].snap]')" '["2024-01-01","2024-01-02"]'
	mkdir bk/2024-01-03
	rmdir bk/2024-01-01
	echo "$list" >&7
	is "$(answer 3 | jq -c '[.result.snapshots[].snap]')" '["2024-01-02","2024-01-03"]'
	mv bk/2024-01-03 bk/2024-01-04
	echo "$list" >&7
	is "$(answer 4 | jq -c '[.result.snapshots[].snap]')" '["2024-01-02","2024-01-04"]'
	exec 7>&-
	wait $agent
}

@test "a path that no file can have is not there" {
	mkdir -p bk/1 bk/2
	echo x >bk/1/file
	long=$(printf 'x%.0s' {1..300})
	for path in "$long" "file/$long" file/x "a/$long/b"; do
		is "$(strata query --json --folder bk=bk file_history dataset=bk path="$path" | jq -c '[.versions[].present]')" '[false,false]'
	done
	strata query --json --folder bk=bk file_diff snap_a=bk@1 snap_b=bk@2 path="$long" >out.json
	is "$(jq -c '[.present_in_a, .present_in_b, .encoding]' out.json)" '[false,false,"missing"]'
}

@test "the form of all names is checked before any is looked up" {
	mkdir -p bk/a
	run ! strata query --folder bk=bk diff_snapshots snap_a=bk@gone snap_b='bk@ bad'
	[[ $output == *"'snap_b' must be a snapshot's name"* ]]
	run ! strata query --folder bk=bk diff_snapshots snap_a=bk@gone snap_b='-no@a'
	[[ $output == *"'-no' is not a dataset's name"* ]]
	# All datasets are looked up before the first snapshot.
	run ! strata query --folder bk=bk diff_snapshots snap_a=bk@gone snap_b=none@a
	[[ $output == *"no dataset 'none'"* ]]
	run ! strata query --folder bk=bk diff_snapshots snap_a=bk@gone snap_b=bk@lost
	[[ $output == *"no snapshot 'gone'"* ]]
}

@test "names of another form are counted by every method that lists snapshots" {
	mkdir -p bk/2024-01-01 "bk/#odd"
	asking() { strata query --json --folder bk=bk "$@" | jq .left_out; }
	is "$(asking list_snapshots dataset=bk)" 1
	is "$(asking snapshot_cadence dataset=bk)" 1
	is "$(asking stale_snapshots dataset=bk older_than=now)" 1
}
