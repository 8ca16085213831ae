# cat: prints the content of a file of a node.
load helpers
load history

@test "cat prints exactly what the file held" {
	head -c 100000 /dev/urandom >src/small
	head -c 3000000 /dev/urandom >src/large
	printf 'no newline' >src/text
	touch src/empty
	begin
	rm -r ${W:?}/*
	node gone
	for file in small large text empty; do
		strata cat HEAD~1:$file | cmp - src/$file
	done
}

@test "cat of a sparse file writes its holes as zeros" {
	truncate -s 3M src/sparse
	printf x | dd of=src/sparse bs=1 seek=2000000 conv=notrunc status=none
	begin
	strata cat HEAD:sparse | cmp - src/sparse
}

@test "cat work:PATH reads the live tree" {
	echo old >src/file
	begin
	echo new >$W/file
	is "$(strata cat work:file)" new
	is "$(strata cat HEAD:/file)" old
	is "$(strata cat @:file)" old
}

@test "cat of a path with odd bytes" {
	printf x >src/$'a\nb:c \xff'
	begin
	is "$(strata cat HEAD:$'a\nb:c \xff')" x
}

@test "cat of what is no file" {
	mkdir src/dir
	ln -s x src/link
	mkfifo src/pipe
	begin
	fails 1 "strata: 'HEAD:dir' is a directory
hint: list it with 'strata ls'" strata cat HEAD:dir
	fails 1 "strata: 'HEAD:link' is a symlink, not a regular file" strata cat HEAD:link
	fails 1 "strata: 'HEAD:pipe' is a fifo, not a regular file" strata cat HEAD:pipe
	run -1 strata cat HEAD:none
	run -1 strata cat HEAD
	run -1 strata cat none:none
}

@test "cat into a closed pipe ends quietly enough" {
	head -c 5000000 /dev/zero | tr '\0' x >src/file
	begin
	run bash -c '"$1" cat HEAD:file | head -c 3; exit ${PIPESTATUS[0]}' - "$STRATA"
	[ "$status" = 141 ] || [ "$status" = 1 ]
	is "${output:0:3}" xxx
}

@test "cat to a full device fails" {
	head -c 1000000 /dev/zero >src/file
	begin
	run -1 bash -c '"$1" cat HEAD:file >/dev/full' - "$STRATA"
	is "$output" "strata: standard output: No space left on device"
}

@test "cat usage" {
	begin
	usage strata cat
	usage strata cat a b
}
