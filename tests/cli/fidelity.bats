# fidelity: a tree with every kind of attribute is restored exactly.
load helpers
load history

full() {
	make_tree
	begin
	first=$(strata head)
}

@test "init makes an identical live tree, and checkout HEAD touches none of it" {
	full
	same_tree src $W
	clean
	list() { find $W -printf '%p\t%i\t%C@\t%T@\t%n\t%b\n' | sort; }
	list >before
	strata checkout HEAD >/dev/null
	strata undo >/dev/null 2>&1 || true
	list | diff before -
}

@test "mutate, commit and check out again, over several rounds" {
	full
	for seed in 11 12 13; do
		mutate $seed
		walk $W --content >walk.$seed
		strata commit -m "seed $seed" >/dev/null
		clean
	done
	strata tag last >/dev/null
	strata checkout "$first" >/dev/null
	same_tree src $W
	for seed in 12 11 13; do
		strata checkout "$(strata log --json | jq -r ".nodes[] | select(.message == \"seed $seed\") | .id")" >/dev/null
		walk $W --content | diff walk.$seed -
	done
	clean
}

@test "uncommitted mutation is kept by the safety node, exactly" {
	full
	mutate 21
	walk $W --content >mutated
	safety=$(strata checkout "$first" --json | jq -r .safety)
	same_tree src $W
	strata checkout "$safety" >/dev/null
	walk $W --content | diff mutated -
}

@test "a checkout there and back leaves what does not differ untouched" {
	full
	put only-this text
	second=$(node second)
	find $W -mindepth 1 ! -name only-this -printf '%p\t%i\t%C@\t%T@\n' | sort >before
	strata checkout "$first" >/dev/null
	strata checkout "$second" >/dev/null
	find $W -mindepth 1 ! -name only-this -printf '%p\t%i\t%C@\t%T@\n' | sort | diff before -
}

@test "export and import, as a tar file and as a directory" {
	full
	strata export HEAD -o - >x.tar
	is "$(strata import x.tar --json | jq -r .tree)" "$(tree HEAD)"
	strata export HEAD --format dir -o there >/dev/null
	same_tree src there
	strata --root "$PWD/env2" init --tarball x.tar >/dev/null
	same_tree src env2/work/main
	is "$(strata --root "$PWD/env2" show --json | jq -r .tree)" "$(tree HEAD)"
}

@test "hard links stay links, across directories and after changes" {
	begin
	mkdir -p $W/l/a $W/l/b
	echo shared >$W/l/a/one
	ln $W/l/a/one $W/l/b/two
	ln $W/l/a/one $W/l/three
	linked=$(node linked)
	rm $W/l/a/one
	cp $W/l/b/two $W/l/new
	mv $W/l/new $W/l/b/two
	node broken
	strata checkout "$linked" >/dev/null
	is "$(stat -c %h $W/l/a/one $W/l/b/two $W/l/three | tr '\n' ' ')" "3 3 3 "
	is "$(stat -c %i $W/l/a/one $W/l/b/two $W/l/three | sort -u | wc -l)" 1
	clean
}

@test "holes stay holes" {
	begin
	truncate -s 1G $W/hole
	printf end >>$W/hole
	node hole
	rm $W/hole
	node gone
	strata checkout HEAD~1 >/dev/null
	[ "$(stat -c %b $W/hole)" -lt 1000 ]
	is "$(stat -c %s $W/hole)" 1073741827
	is "$(tail -c 3 $W/hole)" end
}

@test "an ordinary user restores modes, attributes and times of what is read-only" {
	mkdir -p src/ro/sub
	for mode in 400 444 500 440; do
		echo $mode >src/ro/$mode
		setfattr -n user.mode -v $mode src/ro/$mode || unavailable "no user attributes here"
		chmod $mode src/ro/$mode
	done
	setfattr -n user.dir -v x src/ro src/ro/sub
	chmod 500 src/ro/sub
	chmod 555 src/ro
	find src/ro -exec touch -d '2001-02-03 04:05:06.123456789' {} +
	prepare_nobody
	cp -a src/ro ro
	nobody "$STRATA" --root "$PWD/out/env" init --from src/ro >/dev/null
	same_tree ro out/env/work/main
	nobody chmod -R u+w out/env/work/main
	nobody rm -r out/env/work/main/400 out/env/work/main/sub
	nobody setfattr -n user.mode -v changed out/env/work/main/444
	nobody chmod 555 out/env/work/main
	nobody "$STRATA" --root "$PWD/out/env" commit -m changed >/dev/null
	nobody "$STRATA" --root "$PWD/out/env" checkout HEAD~1 >said.txt 2>&1
	same_tree ro out/env/work/main
	is "$(wc -l <said.txt)" 1
}
