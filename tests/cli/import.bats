# import: makes a node of a tar file.
load helpers
load history

@test "import makes a node and leaves HEAD and the live tree alone" {
	three
	mkdir in
	echo text >in/file
	tar -C in --format=pax -cf in.tar .
	walk $W --content >before
	run -0 --separate-stderr strata import in.tar
	[ -z "$stderr" ]
	new=$(strata log --json | jq -r '.nodes[0].id')
	[[ $output == "$new  "*"  import    import in.tar"* ]]
	is "$(strata head)" "$three"
	walk $W --content | diff before -
	is "$(strata cat "$new:file")" text
	strata checkout "$new" >/dev/null
	same_tree in $W
	clean
}

@test "export and import give the same tree" {
	make_tree --deep 30
	begin
	strata export HEAD -o x.tar >/dev/null
	is "$(strata import x.tar --json | jq -r .tree)" "$(tree HEAD)"
	clean
}

@test "import -m sets the message; --json is the node" {
	begin
	tar -C src -cf x.tar .
	is "$(strata import x.tar -m hello --json | jq -c '[.kind, .message, .head, .entries]')" '["import","hello",false,0]'
}

@test "import reads compressed archives and standard input" {
	echo text >src/file
	begin
	strata export HEAD -o x.tar >/dev/null
	for kind in gzip xz zstd bzip2; do
		need $kind
		$kind -c x.tar >x.$kind
		is "$(strata import x.$kind --json | jq -r .tree)" "$(tree HEAD)"
	done
	is "$(strata import - --json <x.tar | jq -r .tree)" "$(tree HEAD)"
}

@test "names that lead out are refused and reported" {
	mkdir in
	echo evil >in/evil
	echo good >in/good
	tar -C in -Pcf x.tar --transform 's,^evil$,../../evil,' evil good
	tar -C in -Prf x.tar --transform 's,^evil$,/absolute,' evil
	tar -C in -Prf x.tar --transform 's,^evil$,a/../b,' evil
	begin
	list() { find . -path ./env -prune -o ! -name '*before' ! -name '*.json' -print | sort; }
	list >before
	strata import x.tar --json >in.json 2>/dev/null || true
	new=$(jq -r .id in.json)
	is "$(jq '.exceptions.refused' in.json)" 2
	is "$(strata ls -r "$new" --json | jq -c '[.entries[].name]')" '["absolute","good"]'
	strata checkout "$new" >/dev/null
	list | diff before -
	[ ! -e /absolute ]
	is "$(ls $W)" $'absolute\ngood'
	clean
}

@test "a link out of the tree stays a link and nothing is written through it" {
	mkdir in outside
	ln -s "$PWD/outside" in/dir
	tar -C in -cf x.tar dir
	rm in/dir
	mkdir in/dir
	echo evil >in/dir/file
	tar -C in -rf x.tar dir/file
	begin
	run --separate-stderr strata import x.tar --json
	new=$(jq -r .id <<<"$output")
	strata checkout "$new" >/dev/null
	[ -z "$(ls -A outside)" ]
	clean
}

@test "a hard link to nothing and to the outside" {
	mkdir in
	echo secret >outside
	echo a >in/a
	ln in/a in/b
	tar -C in -cf x.tar a b
	tar -f x.tar --delete a
	begin
	run --separate-stderr strata import x.tar --json
	is "$(jq '.exceptions.refused' <<<"$output")" 1
	is "$(strata ls "$(jq -r .id <<<"$output")")" ""
	clean
}

@test "a truncated archive and one that is none make no node" {
	head -c 500000 /dev/urandom >src/big
	begin
	strata export HEAD -o x.tar >/dev/null
	head -c 100000 x.tar >cut.tar
	gzip -c x.tar | head -c 200000 >cut.gz
	head -c 5000 /dev/urandom >noise
	for file in cut.tar cut.gz noise; do
		run -1 --separate-stderr strata import $file
		[[ ${stderr_lines[0]} == "strata: "* ]]
	done
	is "$(strata log | wc -l)" 1
	clean
}

@test "an archive with flipped bytes is refused or read, never half" {
	seq 500 >src/f
	begin
	strata export HEAD -o x.tar >/dev/null
	for at in 0 100 148 156 257 512 700 1024 1500; do
		cp x.tar y.tar
		printf '\377' | dd of=y.tar bs=1 seek=$at conv=notrunc status=none
		status=0
		strata import y.tar >/dev/null 2>err.txt || status=$?
		[ $status -le 1 ] || { echo "at $at: status $status"; return 1; }
	done
	clean
}

@test "import of a directory that is the environment's own does not harm it" {
	mkdir -p tree in/.strata/packs in/.strata/work
	echo mine >tree/file
	echo evil | tee in/.strata/strata.db in/.strata/packs/00000001.pack in/.strata/packs/evil >/dev/null
	chmod 777 in/.strata
	tar -C in -cf x.tar .
	export STRATA_ROOT=$PWD/tree/.strata
	strata init --from tree --in-place >/dev/null
	mode=$(stat -c %a tree/.strata)
	new=$(strata import x.tar --json | jq -r .id)
	strata checkout "$new" >/dev/null 2>&1 || true
	is "$(stat -c %a tree/.strata)" "$mode"
	[ ! -e tree/.strata/packs/evil ]
	strata fsck >/dev/null
	strata checkout "$(strata log --json | jq -r '.nodes[-1].id')" >/dev/null
	is "$(cat tree/file)" mine
}

@test "what is excluded is not overwritten by an imported tree" {
	mkdir in
	echo theirs | tee in/x.log in/y >/dev/null
	tar -C in -cf x.tar .
	begin --exclude '*.log'
	echo mine >$W/x.log
	new=$(strata import x.tar --json | jq -r .id)
	strata checkout "$new" >/dev/null 2>&1 || true
	is "$(cat $W/x.log)" mine
	is "$(cat $W/y)" theirs
}

@test "import usage" {
	begin
	usage strata import
	usage strata import a b
	fails 1 "strata: no file 'nowhere.tar'" strata import nowhere.tar
}
