# racy: an edit that does not change size and mtime is captured.
load helpers
load history

# caught TEXT: the next commit contains the text.
caught() {
	strata commit -m "$1" >/dev/null
	is "$(strata cat HEAD:file)" "$1"
}

@test "an edit right after a commit that keeps size and mtime, 200 times" {
	printf '%04d' 0 >src/file
	touch -d @1000000000 src/file
	begin
	for i in {1..200}; do
		printf '%04d' "$i" | dd of=$W/file conv=notrunc status=none
		touch -d @1000000000 $W/file
		strata commit -m "$i" >/dev/null
		[ "$(strata cat HEAD:file)" = "$(printf %04d "$i")" ] || { echo "lost edit $i"; return 1; }
	done
	is "$(strata log | wc -l)" 201
}

@test "edits without waiting, not even for the clock" {
	printf 0 >src/file
	begin
	for i in 1 2 3 4 5 6 7 8 9; do
		printf %s $i >$W/file
		strata commit >/dev/null
		is "$(strata cat HEAD:file)" $i
	done
}

@test "a file replaced by one of the same size and mtime" {
	printf aaaa >src/file
	begin
	for i in 1 2 3 4 5; do
		printf 'bbb%s' $i >$W/new
		touch -r $W/file $W/new
		mv $W/new $W/file
		caught bbb$i
	done
}

@test "touch -r back to the time before" {
	printf aaaa >src/file
	begin
	sleep 0.1
	strata status >/dev/null
	touch -r $W/file stamp
	printf bbbb >$W/file
	touch -r stamp $W/file
	caught bbbb
}

@test "files exchanged with each other, same size and mtime" {
	printf aaaa >src/file
	printf bbbb >src/other
	touch -r src/file src/other
	begin
	sleep 0.1
	strata commit >/dev/null
	mv $W/file $W/x
	mv $W/other $W/file
	mv $W/x $W/other
	caught bbbb
	is "$(strata cat HEAD:other)" aaaa
}

@test "an edit through a shared mapping" {
	need gcc
	printf aaaa >src/file
	begin
	sleep 0.1
	strata commit >/dev/null
	cat >map.c <<-'C'
	#include <fcntl.h>
	#include <string.h>
	#include <sys/mman.h>
	int main(int c, char **v) {
		char *p = mmap(0, 4, PROT_READ | PROT_WRITE, MAP_SHARED, open(v[1], O_RDWR), 0);
		if (p == MAP_FAILED) return 1;
		memcpy(p, v[2], 4);
		return 0;
	}
	C
	gcc -o map map.c
	for i in 1 2 3 4 5; do
		./map $W/file "map$i"
		caught "map$i"
	done
}

@test "an edit right after checkout" {
	printf aaaa >src/file
	begin
	first=$(strata head)
	printf bbbb >$W/file
	second=$(node second)
	for i in 1 2 3 4 5; do
		strata checkout "$first" >/dev/null
		touch -r $W/file stamp
		printf 'edi%s' $i >$W/file
		touch -r stamp $W/file
		is "$(strata status --json | jq .dirty)" 1
		safety=$(strata checkout "$second" --json | jq -r .safety)
		is "$(strata cat "$safety:file")" "edi$i"
	done
}

@test "an edit right after init" {
	printf aaaa >src/file
	begin
	touch -r $W/file stamp
	printf bbbb >$W/file
	touch -r stamp $W/file
	caught bbbb
}

@test "an edit right after restore" {
	printf aaaa >src/file
	begin
	printf bbbb >$W/file
	node second
	strata restore HEAD~1 -- file >/dev/null
	touch -r $W/file stamp
	printf cccc >$W/file
	touch -r stamp $W/file
	caught cccc
}

@test "a clock that goes backwards" {
	printf aaaa >src/file
	begin
	touch -d '2040-01-01' $W/file
	strata commit >/dev/null
	printf bbbb >$W/file
	touch -d '2040-01-01' $W/file
	caught bbbb
}

@test "mode, owner and attributes changed and changed back make no node" {
	printf aaaa >src/file
	begin
	chmod 600 $W/file
	chmod 644 $W/file
	run -0 strata commit
	is "$output" "nothing changed since $(strata head)"
}
