# users - environments of root, of a user with subordinate ids and of one without.  Use: load users.
#
# tests/kernel/machine makes the two users.  The tree of a node is compared with the tree that
# programs in the sandbox see.  Strata's code is not used for this: the archive of the node,
# unpacked by tar, must be the same tree.
# shellcheck shell=bash
load ../cli/helpers
load ../cli/history
load ../cli/rootfs
load ../cli/owner

# FAR: makes 300 files with 3 MB, and so a node far from the base.  The shell does this without
# other programs.
# shellcheck disable=SC2016,SC2034 # for the shell inside; for the tests
FAR='mkdir -p /far/0 /far/1 /far/2 /far/3 /far/4 /far/5 /far/6 /far/7 /far/8 /far/9
	text=$(head -c 7500 /dev/urandom | base64)
	i=0
	while [ $i -lt 300 ]; do echo "$i $text" >/far/$((i % 10))/$i; i=$((i + 1)); done'

# Use few programs, since making a tree takes long on an emulated processor.
setup_file() {
	local name
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$BATS_FILE_TMPDIR"
	cp "$STRATA" "$BATS_FILE_TMPDIR/strata"
	mkdir -p "$BATS_FILE_TMPDIR/tree"/{bin,etc,root,tmp,proc,sys,dev,srv/many,usr/lib/sub}
	cd "$BATS_FILE_TMPDIR/tree" || return 1
	cp "$(command -v busybox)" bin/busybox
	for name in base64 cat chmod chown head ln ls mkdir mv rm sh sleep touch usleep wc; do
		ln -s busybox bin/$name
	done
	echo root:x:0:0:root:/root:/bin/sh >etc/passwd
	echo root:x:0: >etc/group
	: >etc/resolv.conf
	echo deep >usr/lib/sub/two
	for name in {1..100}; do echo "$name" >srv/many/"$name"; done
	chown 33:8 srv/many srv/many/7
	chmod 2750 srv/many
	setfattr -n user.note -v kept srv/many/8
	cp "$TOOLS/treewalk-static" treewalk
	tar --numeric-owner --xattrs -cf ../tree.tar .
}

setup() {
	strata_setup
	getent passwd strata-plain >/dev/null || unavailable "not in the machine of tools/check-kernel"
	chmod 755 "$BATS_TEST_TMPDIR"
	STRATA=$BATS_FILE_TMPDIR/strata
	user=()
	owner=
}

teardown() {
	[ -z "$owner" ] || kill -KILL "$owner" 2>/dev/null || true
	strata checkout HEAD >/dev/null 2>&1 || true
	strata_teardown
}

# be KIND: strata is run by root, or by a user with (sub) or without (plain) subordinate ids, in a
# new environment.
be() {
	kind=$1
	if [ "$kind" != root ]; then
		local id
		id=$(getent passwd "strata-$kind" | cut -d: -f3)
		user=(setpriv --reuid "$id" --regid "$id" --clear-groups --inh-caps=-all --)
		chown "$id:$id" env home src
	fi
	strata init --tarball "$BATS_FILE_TMPDIR/tree.tar" --backend overlay >/dev/null
	# shellcheck disable=SC2034 # for the tests
	first=$(strata head)
}

strata() { "${user[@]}" "$STRATA" "$@"; }

# seen: print the tree that programs see.  For a user with one id, the owners are left out, since
# they have no meaning.
seen() {
	local options=(--content --no-holes)
	[ "$kind" != plain ] || options+=(--no-owner)
	in_env /treewalk / "${options[@]}" --one-file-system | own_entries
}

# told NODE: print the same for the archive of a node.
told() {
	local options=(--content --no-holes)
	[ "$kind" != plain ] || options+=(--no-owner)
	rm -rf archive.tar unpacked
	strata export "$1" --format tar -o - >archive.tar && mkdir unpacked || return
	tar -C unpacked --numeric-owner --xattrs --xattrs-include='*' -xpf archive.tar || return
	walk unpacked "${options[@]}" | own_entries
}

# right: programs see the tree of HEAD, and nothing differs from it.
right() {
	local node
	node=$(strata head) && seen >seen.now || return
	[ -e "told.$node" ] || told "$node" >"told.$node" || return
	same "told.$node" seen.now && is "$(strata status --json | jq -c '[.dirty, .dirty_paths]')" '[0,[]]'
}
same() { diff "$1" "$2" >differs || { head -n 20 differs; return 1; }; }

# at NODE NAME: check out NODE.  Programs must see the same as when NAME was recorded.
at() {
	strata checkout "$1" >/dev/null && right && same "seen.$2" seen.now
}
