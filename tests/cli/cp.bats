# cp: copies files into the live tree, and out of nodes.
load helpers
load history
load rootfs
load owner

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	end_owner
}

# plain: make an environment whose live tree can be inspected from outside.
plain() {
	echo old >src/file
	mkdir -p src/dir
	echo kept >src/dir/kept
	begin
	first=$(strata head)
}

@test "cp brings a tree with every attribute in and out again" {
	plain
	"$TOOLS/mktree" host 2>/dev/null
	readable host
	strata cp host work:copied >said.txt
	grep -qE '^copied [0-9]+ entries, .* \[\+[0-9]+\]$' said.txt
	same_tree host $W/copied
	# The copy is an uncommitted change like any other.
	is "$(strata head)" "$first"
	[ "$(strata status --json | jq .dirty)" -gt 10 ]
	strata commit -m in >/dev/null
	clean
	strata fsck >/dev/null
	strata cp HEAD:copied out/again >/dev/null
	same_tree host out/again
	strata cp work:copied out >/dev/null
	same_tree host out/copied
	is "$(ls -A out)" $'again\ncopied'
}

@test "cp into an overlay nobody has mounted, and under running programs" {
	mini_rootfs src
	cp "$TOOLS/treewalk-static" src/treewalk
	begin --backend overlay || unavailable "no overlay"
	mkdir -p host/sub
	echo one >host/one
	ln host/one host/sub/linked
	ln -s ../one host/sub/link
	mkfifo host/fifo
	truncate -s 1M host/holes
	touch -d @1234567890.123456789 host/one
	chmod 4711 host/one
	strata cp host work:/srv >/dev/null
	in_env /treewalk /srv --content >seen.txt
	walk host --content >want.txt
	# If an ordinary user copies, the owner in the sandbox is root.
	diff <(sed -E 's/uid=[0-9]+ gid=[0-9]+//' want.txt) <(sed -E 's/uid=[0-9]+ gid=[0-9]+//' seen.txt)
	strata commit -m srv >/dev/null
	clean
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	echo two >host/one
	strata cp host/one work:/srv/one >/dev/null
	is "$(in_env cat /srv/one)" two
	is "$(strata status --json | jq '.processes | length')" 1
}

@test "a single file, standard input and standard output" {
	plain
	strata cp - work:new <<<"from a pipe" >/dev/null
	is "$(cat $W/new)" "from a pipe"
	is "$(stat -c %a $W/new)" 644
	chmod 751 $W/file
	head -c 3000000 /dev/urandom >big
	strata cp - work:file <big >/dev/null
	cmp big $W/file
	is "$(stat -c %a $W/file)" 751
	strata cp work:file - | cmp big -
	is "$(strata cp "$first:file" -)" old
	strata cp "$first:file" out/ >/dev/null
	is "$(cat out/file)" old
	ln -s nowhere link
	strata cp link work:link >/dev/null
	is "$(readlink $W/link)" nowhere
	strata cp work:link out/copy >/dev/null
	is "$(readlink out/copy)" nowhere
}

@test "a directory that is there takes the copy in, and is merged with one of its name" {
	plain
	mkdir -p dir/sub
	echo new >dir/new
	echo other >dir/kept
	chmod 700 dir
	strata cp dir work: >/dev/null
	is "$(find $W -mindepth 1 | sort)" "$(printf "$W/%s\n" dir dir/kept dir/new dir/sub file)"
	is "$(cat $W/dir/kept)" other
	is "$(stat -c %a $W/dir)" 755
	strata cp dir work:dir >/dev/null
	is "$(cat $W/dir/dir/new)" new
	strata cp dir/. work:dir/sub >/dev/null
	is "$(cat $W/dir/sub/new)" new
	strata cp dir work:other >/dev/null
	is "$(stat -c %a $W/other)" 700

	mkdir -p out/dir
	echo mine >out/dir/mine
	echo mine >out/dir/kept
	strata cp "$first:dir" out >/dev/null
	is "$(cat out/dir/mine out/dir/kept)" $'mine\nkept'
	strata cp "$first:/" out/all >/dev/null
	is "$(ls out/all)" $'dir\nfile'
	mkdir out/into
	strata cp "$first:" out/into >/dev/null
	is "$(ls -A out/into)" $'dir\nfile'
}

@test "what cannot be, or is no path, is refused and changes nothing" {
	plain
	mkdir host
	ln -s / $W/out
	ln -s dir $W/inner
	strata commit -m links >/dev/null
	fails 1 "strata: there is no directory 'out' in the tree" strata cp src/file work:out/tmp/escaped
	fails 1 "strata: there is no directory 'inner' in the tree" strata cp src/file work:inner/x
	fails 1 "strata: there is no directory 'missing' in the tree" strata cp src/file work:missing/x
	fails 1 "strata: no directory 'work:missing'" strata cp src/file work:missing/
	fails 1 "strata: 'file' is no directory, and would become one" strata cp host work:file
	fails 1 "strata: '..' in 'work:../x' is no name of a file" strata cp src/file work:../x
	fails 1 "strata: 'work:dir' is a directory: name the file" strata cp - work:dir
	fails 1 "strata: no file 'missing'" strata cp missing work:x
	fails 1 "strata: no 'missing' in $(strata head)" strata cp HEAD:missing out
	fails 1 "strata: 'dir' is a dir: only a file goes to standard output" strata cp HEAD:dir -
	run -1 strata cp src/file HEAD:x
	usage strata cp src/file out/x
	usage strata cp HEAD:file work:x
	usage strata cp HEAD:file
	mkdir out/file
	fails 1 "strata: 'file' is a directory, and would become something else" strata cp HEAD:file out
	is "$(ls -A out)" file
	is "$(ls -A out/file)" ""
	clean
	fails 1 "strata: '$PWD/env/packs' is part of the environment's own files" strata cp env/packs work:x
	# If the last name is a link, the link is replaced and not followed.
	strata cp src/file work:out >/dev/null
	is "$(stat -c %F $W/out)" "regular file"
}

@test "nothing is copied where something cannot be read" {
	plain
	mkdir host
	echo a >host/a
	echo b >host/b
	chmod 0 host/b
	# Root can read every file, so root gives up that right here.
	local blind=()
	[ "$(command id -u)" != 0 ] || blind=(setpriv "--bounding-set=-dac_override,-dac_read_search")
	run -1 --separate-stderr "${blind[@]}" "$STRATA" cp host work:host
	[[ $stderr == *"strata: 'b': "*"; nothing was copied"* ]]
	[ ! -e $W/host ]
	clean
}

@test "names are bytes, and a colon in one is no reference" {
	plain
	printf x >$'./odd\xff\n:name'
	strata cp $'./odd\xff\n:name' work: >/dev/null
	[ -e $W/$'odd\xff\n:name' ]
	strata cp work:$'odd\xff\n:name' out >/dev/null
	[ -e out/$'odd\xff\n:name' ]
	is "$(strata cp --json work:$'odd\xff\n:name' out/y | jq -c '[.ref, .entries, .bytes]')" '["work",1,1]'
}

@test "hard links that reach out of what is copied over stay with the rest" {
	plain
	ln $W/dir/kept $W/outside
	strata commit -m linked >/dev/null
	mkdir dir
	echo x >dir/a
	ln dir/a dir/b
	strata cp dir work: >/dev/null
	is "$(stat -c %i $W/dir/kept)" "$(stat -c %i $W/outside)"
	is "$(stat -c %i $W/dir/a)" "$(stat -c %i $W/dir/b)"
	strata commit -m in >/dev/null
	clean
	strata checkout HEAD~1 >/dev/null
	strata checkout '@{-1}' >/dev/null
	is "$(stat -c '%h %i' $W/dir/a)" "$(stat -c '%h %i' $W/dir/b)"
	strata fsck >/dev/null
}

@test "uncaptured work is kept before it is overwritten" {
	plain
	echo precious >$W/file
	echo new >file
	strata cp file work:file >/dev/null
	is "$(strata cat HEAD:file)" precious
	is "$(cat $W/file)" new
}

@test "the environment in a directory that is copied is left out" {
	mkdir project
	echo code >project/code
	export STRATA_ROOT=$PWD/project/.strata
	strata init --empty >/dev/null
	strata cp project work: >/dev/null
	is "$(strata ls -r work: | awk '{print $NF}')" "$(printf 'project\nproject/code')"
}

@test "cp beside an owner is done by it, and captured by itself" {
	plain
	own daemon
	(cd src && echo relative >rel && strata cp rel work:dir) >/dev/null
	is "$(cat $W/dir/rel)" relative
	strata cp - work:piped <<<text >/dev/null
	wait_for captured
	is "$(strata cat HEAD:piped)" text
	is "$(strata cp HEAD:dir/rel -)" relative
}
