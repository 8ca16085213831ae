# overlay: every change that is made inside is captured and rolled back exactly.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	mkdir -p src/d/e/f src/big
	for i in $(seq 50); do echo "$i" >src/big/$i; done
	echo 1 >src/d/one
	echo 2 >src/d/e/two
	ln src/d/one src/d/e/one
	ln -s e/two src/d/link
	cp "$TOOLS/treewalk-static" src/treewalk
	begin --backend overlay
	first=$(strata head)
	seen >seen.first
}

# change SCRIPT: run the script, and move HEAD back and forth.  Each time, programs inside must see the
# same tree as before.
change() {
	do_in "$1"
	seen >seen.after
	run ! cmp -s seen.first seen.after
	clean
	strata checkout HEAD~1 >/dev/null
	seen | diff seen.first -
	strata undo >/dev/null
	seen | diff seen.after -
	# An export, which uses only the history, has the same tree.
	strata export HEAD --format dir -o exported >/dev/null
	[ "$(id -u)" != 0 ] || walk exported --content | own_entries | diff seen.after -
	clean
}

@test "everything of /usr is removed" { change 'rm -rf /usr'; }
@test "a directory is replaced" { change 'rm -rf /d; mkdir /d; echo other >/d/other'; }
@test "a directory is deleted and made again with the same names" { change 'rm -rf /d; mkdir -p /d/e; echo 3 >/d/e/two'; }
@test "a file becomes a directory" { change 'rm /d/one; mkdir /d/one; echo in >/d/one/in'; }
@test "a directory becomes a file" { change 'rm -r /d/e; echo file >/d/e'; }
@test "a directory becomes a link" { change 'rm -r /d/e; ln -s /usr /d/e'; }
@test "a directory of the base is renamed" { change 'mv /d /moved'; }
@test "a directory is renamed over an empty one" {
	change 'mkdir /empty; mv -T /big /empty || { rmdir /empty; mv /big /empty; }'
}
@test "one of two hard links is changed" { change 'echo more >>/d/one'; }
@test "one of two hard links is removed" { change 'rm /d/e/one'; }
@test "hard links are made" { change 'ln /d/e/two /d/two; ln /d/one /big/one'; }
@test "modes and times only" { change 'chmod 751 /d; chmod 4755 /d/one; touch -d "2001-02-03 04:05:06" /d/e/two /big'; }
@test "the root directory itself" { change 'chmod 711 /; touch -d "2001-02-03 04:05:06" /'; }
@test "special files" { change 'mkfifo /d/pipe; ln -s nowhere /d/dangling'; }
@test "read-only directories and unreadable files" {
	change 'mkdir -p /r/o; echo x >/r/o/file; echo y >/secret; chmod 0000 /secret; chmod 0 /r/o/file; chmod 0555 /r/o /r'
	is "$(strata cat HEAD:secret)" y
}

@test "a file replaced by a directory and back, over several nodes" {
	do_in 'rm /d/one; mkdir /d/one; echo in >/d/one/in'
	seen >seen.2
	do_in 'rm -r /d/one; echo back >/d/one'
	seen >seen.3
	for step in "HEAD~1 2" "@{-1} 3" "$first first"; do
		set -- $step
		strata checkout "$1" >/dev/null
		seen | diff "seen.$2" -
	done
	clean
}

@test "work that is in no node is kept by a checkout" {
	strata exec --no-commit -- sh -c 'rm -r /d; echo precious >/root/file'
	seen >seen.work
	run -0 strata checkout "$first" --json
	node=$(jq -r .safety <<<"$output")
	seen | diff seen.first -
	strata checkout "$node" >/dev/null
	seen | diff seen.work -
}

@test "restore of single paths" {
	do_in 'rm -r /d /big/7; echo changed >/big/8'
	strata restore "$first" -- d/e big/7 >/dev/null
	is "$(in_env cat /d/e/two /big/7 /big/8)" $'2\n7\nchanged'
	run ! in_env cat /d/one
}

@test "diff, cat and status look into the live tree" {
	strata exec --no-commit -- sh -c 'echo new >/d/new; rm /big/3; echo more >>/d/e/two'
	is "$(strata diff HEAD work --name-status)" $'-\tbig/3\nM\td/e/two\n+\td/new'
	is "$(strata cat work:d/e/two)" $'2\nmore'
	is "$(strata cat work:d/one)" 1
	is "$(strata status --json | jq -c '[.dirty, .work_path]')" '[3,null]'
}

@test "init --in-place copies nothing and leaves the directory alone" {
	discard env
	mkdir env
	walk src --content >src.before
	strata init --from src --in-place --backend overlay >/dev/null
	[ -z "$(find env/base -name busybox)" ]
	# With subordinate ids, the owner of the directory is root inside.  A copy has the number of the
	# id.
	seen >seen.first
	do_in 'rm -rf /d; echo x >/new'
	seen >seen.2
	strata checkout HEAD~1 >/dev/null
	seen | diff seen.first -
	strata undo >/dev/null
	seen | diff seen.2 -
	walk src --content | diff src.before -
	is "$(strata status --json | jq .drift)" 0
	echo changed from outside >src/big/9
	rm src/big/10
	is "$(strata status --json | jq -c '[.drift >= 2, (.degraded | length > 0)]')" '[true,true]'
}

@test "gc keeps what live trees stand on" {
	do_in 'echo 1 >/root/file'
	do_in 'echo 2 >/root/file'
	strata fork old HEAD~1 >/dev/null
	strata checkout "$first" >/dev/null
	strata gc >/dev/null
	is "$(strata -w old exec -- cat /root/file)" 1
	strata undo >/dev/null
	is "$(in_env cat /root/file)" 2
	clean
}

@test "gc removes layers and forks whose files belong to others" {
	[ "$(command id -u)" = 0 ] || has_subids || unavailable "not root"
	do_in 'mkdir -p /other/deep; echo 1 >/other/deep/file; chmod 700 /other/deep; chown -R 5:6 /other'
	strata fork away >/dev/null
	strata checkout "$first" >/dev/null
	strata undo >/dev/null
	strata checkout "$first" >/dev/null
	strata workspaces delete away >/dev/null
	[ ! -e env/work/away ]
	strata gc --max-layers 1 >/dev/null
	[ -z "$(with_ids find env/work env/layers -name deep)" ]
	strata undo >/dev/null
	is "$(in_env stat -c %u:%g /other/deep/file)" 5:6
	clean
}

@test "who only looks never fails while checkouts replace the live tree" {
	do_in 'echo 2 >/root/file'
	second=$(strata head)
	(
		while [ ! -e stop ]; do
			"$STRATA" checkout "$first" && "$STRATA" checkout "$second" || touch failed
		done >/dev/null 2>writer.err
	) 3>&- &
	for i in {1..200}; do
		case $((i % 5)) in
		0) set -- status ;;
		1) set -- diff HEAD work ;;
		2) set -- ls work ;;
		3) set -- find work file ;;
		4) set -- cat work:d/e/two ;;
		esac
		"$STRATA" "$@" >said 2>err.txt && [ ! -s err.txt ] || { echo "$*"; cat err.txt; touch failed; } >>failures
	done
	touch stop
	wait
	[ ! -e failed ] || { cat failures writer.err; return 1; }
}

# overtaken PLACE CALL COMMAND...: run a command that waits in a system call on PLACE of the workspace,
# and check out another node meanwhile.
overtaken() {
	local place=$1 call=$2 looker
	shift 2
	traced strace -f -qq -o /dev/null -P "$PWD/$W${place:+/$place}" -e trace="${call%%:*}" -e inject="$call" \
		"$STRATA" "$@" >said 2>err.txt &
	looker=$!
	sleep 0.5
	strata checkout "$first" >/dev/null
	wait $looker || { cat err.txt; return 1; }
	is "$(cat err.txt)" ""
}

@test "a live tree that is replaced while it is looked at is looked at again" {
	need strace
	need_ids_traced
	upper() { echo "upper-$(readlink $W/stack | cut -d . -f 2)"; }
	strata ls -r work >want
	# The command waits after it has read the stack, or at the top of the upper, or deep in the
	# upper.
	for place in "" upper upper/many upper/many/deep; do
		in_env sh -c 'mkdir -p /many/deep; cd /many/deep; for i in $(seq 300); do echo $i >$i; done'
		run ! cmp -s <(strata ls -r work) want
		call=getdents64:delay_enter=1500000
		[ -n "$place" ] || call=readlinkat:delay_exit=1500000:when=1
		overtaken "${place/upper/$(upper)}" $call ls -r work
		diff want said
	done
	# The checkout keeps a file before it removes the file, so the command finds it.
	in_env sh -c 'echo precious >/precious'
	overtaken "$(upper)" openat2:delay_enter=1500000 cat work:precious
	is "$(cat said)" precious
}

@test "a large file of a layer below is read from there" {
	do_in 'dd if=/dev/urandom of=/root/large bs=1M count=9 2>/dev/null'
	strata checkout "$first" >/dev/null
	strata undo >/dev/null
	strata cat HEAD:root/large | cmp - <(strata cat work:root/large)
}

@test "a character device 0:0 is kept in the history, and said not to be shown" {
	mknod src/d/zero c 0 0 2>/dev/null || unavailable "no whiteouts"
	discard env
	run -1 --separate-stderr strata init --from src --backend overlay
	[[ $stderr == *"d/zero could not be restored: a character device 0:0"* ]]
	is "$(strata status --json | jq -c '[.dirty, .dirty_paths]')" '[0,[]]'
	strata ls HEAD:d | grep -q '^c.* zero$'
	# Changes of other files do not change this entry.
	do_in 'echo more >/d/other'
	strata ls HEAD:d | grep -q '^c.* zero$'
	# A file that is put in its place and removed again is a change like any other.
	do_in 'echo instead >/d/zero'
	is "$(strata cat HEAD:d/zero)" instead
	do_in 'rm /d/zero'
	run ! strata cat HEAD:d/zero
	strata checkout HEAD~3 --json >out.json || true
	strata ls HEAD:d | grep -q '^c.* zero$'
	strata export HEAD --format tar -o out.tar >/dev/null
	mkdir again && STRATA_ROOT=$PWD/again run -1 --separate-stderr strata init --tarball out.tar --backend overlay --json
	is "$(jq -c '[.exceptions.unrestored, .exceptions.list[0].path]' <<<"$output")" '[1,"d/zero"]'
	strata fsck >/dev/null
}
