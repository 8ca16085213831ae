# ls: lists a directory of a node or of the live tree.
load helpers
load history

setup() {
	strata_setup
	mkdir -p src/dir/sub
	printf 12345 >src/file
	chmod 640 src/file
	touch src/dir/inside
	ln -s dir/inside src/link
	mkfifo src/pipe
	find src -exec touch -h -d @1000000000 {} +
	begin
	me=$(id -u)
	mine=$(command id -g)
}

line() { printf '%s %5d %5d %10d 2001-09-09 01:46:40  %s' "$1" "$me" "$mine" "$2" "$3"; }

@test "ls of HEAD" {
	run -0 --separate-stderr strata ls
	is "$output" "$(line d0755 0 dir)
$(line -0640 5 file)
$(line l0777 10 'link -> dir/inside')
$(line p0644 0 pipe)"
	is "$(strata ls HEAD)" "$output"
	is "$(strata ls HEAD:)" "$output"
	is "$(strata ls HEAD:/)" "$output"
	is "$(strata ls work)" "$output"
}

@test "ls of a directory" {
	is "$(strata ls HEAD:dir)" "$(line -0644 0 inside)
$(line d0755 0 sub)"
	is "$(strata ls HEAD:/dir/)" "$(strata ls HEAD:dir)"
	is "$(strata ls HEAD:dir/sub)" ""
}

@test "ls of a file lists it alone" {
	is "$(strata ls HEAD:file)" "$(line -0640 5 file)"
}

@test "ls -r goes down" {
	is "$(strata ls -r | sed 's/.*40  //')" "dir
dir/inside
dir/sub
file
link -> dir/inside
pipe"
	is "$(strata ls -r HEAD:dir | sed 's/.*40  //')" $'inside\nsub'
}

@test "ls of the past and of the live tree" {
	rm $W/file
	put new new
	node second
	is "$(strata ls HEAD~1 | grep -c file)" 1
	is "$(strata ls HEAD | grep -c file || true)" 0
	rm $W/new
	is "$(strata ls HEAD --json | jq -c '[.entries[].name]')" '["dir","link","new","pipe"]'
	is "$(strata ls work --json | jq -c '[.entries[].name]')" '["dir","link","pipe"]'
}

@test "ls --json" {
	is "$(strata ls HEAD:dir --json | jq -c '[.ref, .path, [.entries[].name]]')" "[\"$(strata head)\",\"dir\",[\"inside\",\"sub\"]]"
	is "$(strata ls --json | jq -c '.entries[1] | [.type, .mode, .uid, .gid, .size, .mtime, .mtime_nsec, .sha256]')" \
		"[\"file\",416,$me,$mine,5,1000000000,0,\"$(printf 12345 | sha256sum | cut -d ' ' -f 1)\"]"
	is "$(strata ls --json | jq -c '.entries[2] | [.type, .target]')" '["symlink","dir/inside"]'
	is "$(strata ls --jsonl | jq -r .name | tr '\n' ' ')" "dir file link pipe "
}

@test "ls of what is not there" {
	run -1 --separate-stderr strata ls HEAD:nowhere
	[[ $stderr == "strata: "*nowhere* ]]
	run -1 strata ls HEAD:file/below
	run -1 strata ls HEAD:../x
	run -1 strata ls nowhere
}
