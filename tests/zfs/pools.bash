# pools - real pools of ZFS, and questions about them by root and by an ordinary user.  Use: load pools.
#
# Each test file has a pool of its own, $POOL, that is mounted at $POINT.  A test file that needs files
# on it has a function fill.  tests/zfs/truth.py has the answers to compare with.
# shellcheck shell=bash
load ../cli/helpers
load ../cli/history

PATH=$PATH:/usr/sbin:/sbin

setup_file() {
	[ -e /dev/zfs ] || return 0
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$BATS_FILE_TMPDIR"
	umask 022
	POOL=strata-$(basename "$BATS_TEST_FILENAME" .bats)
	POINT=$BATS_FILE_TMPDIR/pool
	export POOL POINT
	cp "$BATS_TEST_DIRNAME/truth.py" "$BATS_TEST_DIRNAME/../tools/agentpeer.py" "$BATS_FILE_TMPDIR"
	truncate -s 256M "$BATS_FILE_TMPDIR/disk"
	zpool create -O atime=off -O mountpoint="$POINT" "$POOL" "$BATS_FILE_TMPDIR/disk"
	! declare -F fill >/dev/null || fill
	zpool sync "$POOL"
}

# A test that fails may leave a second pool, whose name begins with $POOL.
teardown_file() {
	local pool
	[ -n "${POOL:-}" ] || return 0
	cd /
	for pool in $(zpool list -H -o name | grep -E "^$POOL(-|\$)"); do zpool destroy -f "$pool"; done
}

setup() {
	strata_setup
	[ -e /dev/zfs ] || unavailable "no ZFS; see make check-zfs"
	chmod 755 "$BATS_TEST_TMPDIR"
	unset STRATA_ROOT
	be root
}

# be USER: run strata as root, or as the user plain, which tests/kernel/machine makes.
be() {
	who=$1
	user=()
	[ "$1" = root ] || user=(setpriv --reuid 54322 --regid 54322 --clear-groups --inh-caps=-all --)
}

# each_user COMMAND...: run a command as root, and again as the user plain.
each_user() {
	local each
	for each in root plain; do
		echo "as $each"
		be "$each"
		"$@"
	done
	be root
}

# script FILE: run a script of Python, which uses truth.py, as the user of be.  The user may write in
# the directory $who.
script() {
	mkdir -p "$who"
	chmod 1777 "$who"
	(cd "$who" && "${user[@]}" env PYTHONPATH="$BATS_FILE_TMPDIR" WHO="$who" python3 -u "$1")
}

# compare <<END: run a script of Python as each user.  script_as_root <<END: run it as root.
compare() {
	write_script
	each_user script "$PWD/script.py"
}
script_as_root() {
	write_script
	script "$PWD/script.py"
}
write_script() {
	{
		echo 'from truth import *'
		echo 'POOL, POINT, WHO = (os.environ[name] for name in ("POOL", "POINT", "WHO"))'
		cat
	} >script.py
}

asking() { "${user[@]}" "$STRATA" query --provider zfs --json "$@"; }

# q JQ-FILTER METHOD...: print the result of the filter for the reply, compact.
q() {
	local filter=$1
	shift
	asking "$@" | jq -c "$filter"
}

# fill_history: make the dataset $POOL/data with the snapshots hourly-1, 'daily with space', weekly.3
# and 4:last.  The user plain may run zfs diff on it, and nothing else.
fill_history() {
	local at=$POINT/data i
	zfs create "$POOL/data"
	zfs allow strata-plain diff "$POOL/data"
	mkdir -p "$at"/{d/sub,gone/sub,empty,odd}
	seq -f 'line %g' 60 >"$at/text"
	for i in f keep both link-target swap1 swap2 chmodded gone/a gone/sub/b d/x d/sub/y; do echo "$i" >"$at/$i"; done
	for i in $'new\nline' $'tab\there' 'back\slash' $'bad\xff\xfe' -dash ' space ' $'ctl\x01\x1b\x7f' \
		'naïve-日本' '*?[a]' "quote\"'s"; do
		echo "in $i" | tr -c 'a-z \n' _ >"$at/odd/$i"
	done
	: >"$at/none"
	printf 'no end of line' >"$at/noend"
	printf 'good\nbad \xff\ngood\n' >"$at/latin"
	printf 'text\nand \0 more\n' >"$at/nul"
	openssl enc -aes-128-ctr -K 00 -iv 00 </dev/zero 2>/dev/null | head -c 1500000 >"$at/random"
	truncate -s 8M "$at/sparse"
	echo 'an island' | dd of="$at/sparse" bs=1 seek=5000000 conv=notrunc status=none
	echo secret >"$at/secret"
	chmod 600 "$at/secret"
	chmod 4755 "$at/f"
	ln "$at/f" "$at/hard1"
	ln "$at/gone/a" "$at/hard2"
	ln -s link-target "$at/link"
	ln -s /etc/passwd "$at/away"
	ln -s nothing "$at/dangling"
	ln -s d "$at/dirlink"
	mkfifo "$at/fifo"
	mknod "$at/device" c 1 3
	zfs snapshot "$POOL/data@hourly-1"
	sleep 1.2
	echo two >"$at/f"
	sed -i '20s/.*/changed/; $a more' "$at/text"
	mv "$at/keep" "$at/kept"
	mv "$at/d" "$at/e"
	mv "$at/both" "$at/both2"
	echo more >>"$at/both2"
	mv "$at/swap1" "$at/swap" && mv "$at/swap2" "$at/swap1" && mv "$at/swap" "$at/swap2"
	ln "$at/f" "$at/hard3"
	chmod 700 "$at/chmodded"
	rm -r "$at/gone"
	mkdir -p "$at/new/deep"
	echo new >"$at/new/deep/file"
	echo 'another island' | dd of="$at/sparse" bs=1 seek=100000 conv=notrunc status=none
	rm "$at/odd/back\\slash"
	echo changed >"$at/odd/"$'bad\xff\xfe'
	mv "$at/odd/"$'tab\there' "$at/odd/"$'tab\nand\\more'
	zfs snapshot "$POOL/data@daily with space"
	sleep 2.2
	echo f >"$at/f"
	rm "$at/text"
	mkdir "$at/text"
	echo 'a file in a directory' >"$at/text/line 1"
	zfs snapshot "$POOL/data@weekly.3"
	zfs snapshot "$POOL/data@4:last"
}
