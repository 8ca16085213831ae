# export: writes a node as a tar file or as a directory.
load helpers
load history

@test "export -o FILE writes a tar that tar(1) unpacks to the same tree" {
	mkdir -p src/dir/empty
	echo text >src/file
	echo more >src/dir/more
	ln -s ../file src/dir/link
	ln src/file src/hard
	mkfifo src/pipe
	chmod 4750 src/dir/more
	find src -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +
	begin
	rm -r ${W:?}/*
	node gone
	run -0 --separate-stderr strata export HEAD~1 -o out.tar
	is "$output" "exported $(id HEAD~1): 7 entries, 15 B"
	tar -C out --numeric-owner -xpf out.tar
	same_tree src out --no-mtime
	# tar(1) cannot set the time of a directory in which it still makes files, so only files are
	# compared.
	is "$(cd out && find . ! -type d -printf '%p %T@\n' | sort)" "$(cd src && find . ! -type d -printf '%p %T@\n' | sort)"
}

@test "export -o - writes to standard output and nothing else there" {
	echo text >src/file
	begin
	strata export HEAD -o - >stdout.tar 2>err.txt
	[ ! -s err.txt ]
	strata export HEAD -o file.tar >/dev/null
	cmp stdout.tar file.tar
	is "$(tar -xOf stdout.tar ./file)" text
}

@test "the same node is exported to the same bytes" {
	mkdir src/d
	seq 1000 >src/d/f
	begin
	strata export HEAD -o a.tar >/dev/null
	strata --root "$PWD/env2" init --tarball a.tar >/dev/null
	strata --root "$PWD/env2" export HEAD -o b.tar >/dev/null
	cmp a.tar b.tar
}

@test "export --format dir makes the tree, with every attribute" {
	make_tree --deep 20
	begin
	run -0 --separate-stderr strata export HEAD --format dir -o there
	[ -z "$stderr" ]
	same_tree src there
}

@test "export --format dir does not write into a directory that has content" {
	echo text >src/file
	begin
	mkdir there
	echo mine >there/file
	run -1 --separate-stderr strata export HEAD --format dir -o there
	is "$(cat there/file)" mine
	is "$(ls there)" file
}

@test "export --format dir into an empty directory" {
	echo text >src/file
	begin
	mkdir there
	strata export HEAD --format dir -o there >/dev/null
	same_tree src there
}

@test "export --json counts" {
	echo text >src/file
	begin
	is "$(strata export HEAD -o x.tar --json | jq -c '[.id, .entries, .bytes, .exceptions.list]')" "[\"$(strata head)\",1,5,[]]"
}

@test "export to a place that cannot be written fails" {
	begin
	run -1 --separate-stderr strata export HEAD -o no/such/dir.tar
	[[ ${stderr_lines[0]} == "strata: "*no/such* ]]
	head -c 1000000 /dev/urandom >$W/f
	node f
	run -1 --separate-stderr bash -c '"$1" export HEAD -o - >/dev/full' - "$STRATA"
}

@test "export works on an environment that is read only" {
	echo text >src/file
	begin
	chmod -R a-w env
	strata export HEAD -o x.tar >/dev/null
	is "$(tar -xOf x.tar ./file)" text
}

@test "export usage" {
	begin
	usage strata export HEAD
	usage strata export -o x
	usage strata export HEAD -o x --format zip
	run -1 strata export nowhere -o x.tar
	[ ! -e x.tar ]
	run -1 strata export work -o x.tar
	[ ! -e x.tar ]
}
