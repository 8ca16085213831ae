# query: snapshots and requests that do not play along get a clear answer in time, and nothing outside is read.
load helpers
load history

asking() { strata query --json --folder bk=bk "$@"; }

# denied MESSAGE METHOD...: fails with this message.
denied() {
	local message=$1
	shift
	run -1 --separate-stderr asking "$@"
	is "${stderr_lines[0]}" "strata: $message"
}

@test "no symbolic link is followed, be it a file, a directory or a snapshot" {
	mkdir -p bk/1/d outside/1
	echo secret >outside/f
	echo secret >outside/1/f
	ln -s "$PWD/outside/f" bk/1/file
	ln -s "$PWD/outside" bk/1/dir
	ln -s "$PWD/outside/1" bk/2
	ln -s / bk/1/d/root
	denied "'file' is a symlink, not a regular file" read_file snapshot=bk@1 path=file
	denied "'file' is a symlink, not a regular file" checksum_file snapshot=bk@1 path=file
	denied "no path 'dir/f' there" read_file snapshot=bk@1 path=dir/f
	denied "'dir' is a symlink, not a directory" list_dir snapshot=bk@1 path=dir
	denied "no path 'd/root/etc/passwd' there" read_file snapshot=bk@1 path=d/root/etc/passwd
	denied "no snapshot '2'" list_dir snapshot=bk@2 path=/
	is "$(asking list_snapshots dataset=bk | jq -c '[.snapshots[].snap]')" '["1"]'
	is "$(asking content_grep snapshot=bk@1 pattern=secret | jq -c .matches)" '[]'
	is "$(asking find_files snapshot=bk@1 pattern=passwd | jq -c .matches)" '[]'
}

@test "a FIFO or a device is never opened" {
	need strace
	mkdir -p bk/1 bk/2 ok
	mkfifo bk/1/pipe bk/2/pipe
	echo text >bk/1/text
	[ "$(command id -u)" != 0 ] || mknod bk/1/zero c 1 5
	denied "'pipe' is a fifo, not a regular file" read_file snapshot=bk@1 path=pipe
	traced strace -f -o trace.txt -e trace=open,openat,openat2 timeout 20 "$STRATA" query --json --folder bk=bk content_grep snapshot=bk@1 pattern=x >out.json
	traced strace -f -A -o trace.txt -e trace=open,openat,openat2 timeout 20 "$STRATA" query --json --folder bk=bk diff_snapshots snap_a=bk@1 snap_b=bk@2 >out.json
	traced strace -f -A -o trace.txt -e trace=open,openat,openat2 timeout 20 "$STRATA" query --json --folder bk=bk --allow-restore ok \
		restore_dir snapshot=bk@1 snapshot_path=/ target_path="$PWD/ok/all" >out.json
	# A descriptor that only names a file (O_PATH) does not open it.
	run ! grep -E '"(pipe|zero)"' <(grep -v O_PATH trace.txt)
	[ -p ok/all/pipe ]
	[ "$(command id -u)" != 0 ] || [ -c ok/all/zero ]
}

@test "expensive patterns and contents are answered in time" {
	mkdir -p bk/1 bk/2
	printf 'a%.0s' {1..5000} >bk/1/as
	printf '!\n' >>bk/1/as
	yes 'the same line' | head -c 1048576 >bk/1/lines
	{ echo first; yes 'the same line' | head -c 1048000; echo last; } >bk/2/lines
	timeout 25 "$STRATA" query --json --folder bk=bk content_grep snapshot=bk@1 pattern='(a+)+$' >out.json || [ $? = 1 ]
	is "$(timeout 25 "$STRATA" query --json --folder bk=bk file_diff snap_a=bk@1 snap_b=bk@2 path=lines | jq -c '[.present_in_a, .present_in_b, .identical, .encoding]')" \
		'[true,true,false,"utf-8"]'
}

@test "requests over a limit are refused with a reason" {
	mkdir -p bk/1
	echo text >bk/1/f
	run -1 --separate-stderr asking list_dir --params "{\"snapshot\":\"bk@1\",\"path\":\"\",\"max_entries\":$(printf '9%.0s' {1..5000})}"
	[ -n "$stderr" ] && ((${#stderr} < 600))
	run -1 --separate-stderr asking list_dir --params "$(printf '[%.0s' {1..2000})"
	[ -n "$stderr" ] && ((${#stderr} < 600))
	run -1 --separate-stderr asking read_file snapshot=bk@1 path="$(printf 'x%.0s' {1..70000})"
	[ -n "$stderr" ] && ((${#stderr} < 600))
	run -1 --separate-stderr asking content_grep snapshot=bk@1 pattern='('
	[ -n "$stderr" ] && ((${#stderr} < 600))
}

@test "names that are not UTF-8 are given and taken, in every step" {
	mkdir -p bk/1 ok
	printf raw >bk/1/"$(printf 'n\377\200')"
	is "$(asking list_dir snapshot=bk@1 path=/ | grep -o 'n\\udcff\\udc80')" 'n\udcff\udc80'
	asking read_file --params '{"snapshot":"bk@1","path":"n\udcff\udc80"}' | jq -e '.content == "raw"' >is
	asking --allow-restore ok restore_file \
		--params "{\"snapshot\":\"bk@1\",\"snapshot_path\":\"n\\udcff\\udc80\",\"target_path\":\"$PWD/ok/m\\udcfe\"}" >out.json
	is "$(cat ok/"$(printf 'm\376')")" raw
}

@test "a file of 100 MB on one line ends the search of that file only" {
	mkdir -p bk/1
	head -c 100000000 /dev/zero | tr '\0' x >bk/1/long
	echo xyz >bk/1/short
	is "$(timeout 25 "$STRATA" query --json --folder bk=bk content_grep snapshot=bk@1 pattern=xyz | jq -c '[.matches[].path]')" '["short"]'
	is "$(asking read_file snapshot=bk@1 path=long max_bytes=5 | jq -c '[.content, .truncated]')" '["xxxxx",true]'
}

@test "a tree of 1,200 levels is restored, with attributes, and compared" {
	mkdir -p bk/1 ok
	local i
	(cd bk/1 && for ((i = 0; i < 1200; i++)); do mkdir long-enough && cd -P long-enough || exit 1; done && echo deep >file && chmod 600 file)
	timeout 25 "$STRATA" query --json --folder bk=bk --allow-restore ok restore_dir snapshot=bk@1 snapshot_path=/ target_path="$PWD/ok/all" >out.json
	timeout 25 "$STRATA" query --json --folder bk=bk --allow-restore ok restore_dir snapshot=bk@1 snapshot_path=/ target_path="$PWD/ok/all" | jq -e .unchanged >is
	same_tree bk/1 ok/all
}

@test "a full or read-only target leaves everything as it was" {
	need_root
	mkdir -p bk/1/d disk
	head -c 3000000 /dev/urandom >bk/1/d/large
	unshare -m sh -ec '
		mount -t tmpfs -o size=1M none disk
		echo old >disk/old
		"$0" query --json --folder bk=bk --allow-restore disk restore_dir snapshot=bk@1 snapshot_path=d target_path="$PWD/disk/new" 2>err.txt && exit 1
		"$0" query --json --folder bk=bk --allow-restore disk restore_file snapshot=bk@1 snapshot_path=d/large target_path="$PWD/disk/old" overwrite=true 2>>err.txt && exit 1
		ls -A disk >names; cat disk/old >>names
		mount -o remount,ro disk
		"$0" query --json --folder bk=bk --allow-restore disk restore_file snapshot=bk@1 snapshot_path=d/large target_path="$PWD/disk/new" 2>>err.txt && exit 1
		exit 0' "$STRATA"
	is "$(cat names)" $'old\nold'
	is "$(grep -c 'No space left on device' err.txt)" 2
	is "$(grep -c 'Read-only file system' err.txt)" 1
}
