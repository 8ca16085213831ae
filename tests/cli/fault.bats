# fault: each command is killed, or gets an error, at one file system call after the other.  Then
# the state that is left is checked (tests/tools/faultrun.c lists the conditions).  By default, a
# sample of the calls is used, and its seed is printed.  FAULT_SEED repeats a run, FAULT_ALL=1 tries
# every call, and FAULT_KEEP=1 leaves failed runs in FAULT_DIR.

load helpers

# These tests do not depend on the speed of the disk, since calls are counted and not timed.
roomy() { [ -w "$1" ] && [ "$(df --output=avail "$1" | tail -n 1)" -gt 100000 ]; }

setup() {
	strata_setup
	if [ -z "${FAULT_DIR:-}" ] && roomy /dev/shm; then
		scratch=$(mktemp -d /dev/shm/strata-fault.XXXXXX)
	else
		scratch=${FAULT_DIR:-$BATS_TEST_TMPDIR}
	fi
	template=$BATS_TEST_TMPDIR/template
	mkdir -p "$template"
	export STRATA_ROOT=$template/env
	live=$template/env/work/main
}

umount_disk() {
	! mountpoint -q "$BATS_TEST_TMPDIR/disk" || umount -l "$BATS_TEST_TMPDIR/disk"
}

teardown() {
	umount_disk
	case ${scratch:-} in
	/dev/shm/strata-fault.*) [ -n "${FAULT_KEEP:-}" ] || rm -rf "$scratch" ;;
	esac
	strata_teardown
}

# Make a tree with entries of each kind, three states of it, a side branch and a tag.
make_source() {
	mkdir -p src/dir/deep src/gone
	echo one >src/file
	echo two >src/dir/two
	echo three >src/dir/deep/three
	echo gone >src/gone/it
	head -c 70000 /dev/urandom >src/large
	truncate -s 300000 src/sparse
	echo end >>src/sparse
	ln src/file src/dir/linked
	ln -s dir/two src/symlink
	mkfifo src/fifo
	chmod 4755 src/dir/two
	setfattr -n user.kind -v text src/file 2>/dev/null || true
}

make_template() {
	make_source
	strata init --from src >/dev/null
	first=$(strata head)
	echo changed >"$live/file"
	rm -r "$live/gone"
	mkdir "$live/new"
	echo new >"$live/new/file"
	strata commit -m second >/dev/null
	strata tag stable >/dev/null
	second=$(strata head)
	echo side >"$live/side"
	rm "$live/dir/deep/three"
	mkdir "$live/dir/deep/three"
	echo below >"$live/dir/deep/three/below"
	strata commit -m side >/dev/null
	side=$(strata head)
	strata checkout stable >/dev/null
	head -c 40000 /dev/urandom >"$live/large"
	ln -sf new/file "$live/symlink"
	rm "$live/fifo"
	chmod 700 "$live/new"
	strata commit -m third >/dev/null
}

# Make work that is in no node.
make_dirty() {
	echo "nobody else has this" >"$live/dirty"
	echo "nor this" >>"$live/dir/two"
	rm -r "$live/new"
	echo "a file now" >"$live/new"
}

# faults [OPTION of faultrun]...  -- COMMAND...: run faultrun.  The sample is so large that this
# file takes about a minute on two slow cores.
faults() {
	local sample=${FAULT_SAMPLE:-8}

	[ -z "${SANITIZED:-}" ] || sample=4
	[ -z "${FAULT_ALL:-}" ] || sample=0
	"$TOOLS/faultrun" --name "${BATS_TEST_DESCRIPTION// /-}" --seed "${FAULT_SEED:-$SRANDOM}" \
		--sample "$sample" --jobs "${FAULT_JOBS:-2}" ${FAULT_KEEP:+--keep} "${options[@]}" \
		"$template" "$scratch" -- "$@" >said 2>&1 || { cat said; return 1; }
	tail -n 1 said | sed 's/^/# /' >&3
}

@test "init from a directory" {
	make_source
	faults init --from "$BATS_TEST_TMPDIR/src"
}

@test "init from a tar file" {
	make_source
	tar -C src -cf src.tar .
	faults init --tarball "$BATS_TEST_TMPDIR/src.tar"
}

@test "commit of a small change" {
	make_template
	make_dirty
	faults commit -m small
}

@test "commit of hundreds of files" {
	make_template
	mkdir "$live/many"
	for i in {1..200}; do
		echo "$i" >"$live/many/$i"
	done
	faults commit -m many
}

@test "commit without a change" {
	make_template
	faults commit
}

@test "checkout" {
	make_template
	faults checkout "$first"
}

@test "checkout over uncaptured work" {
	make_template
	make_dirty
	faults checkout "$side"
}

@test "checkout that gives up uncaptured work" {
	make_template
	make_dirty
	options=(--gives-up)
	faults checkout --no-safety "$side"
}

@test "checkout of hundreds of files" {
	make_template
	mkdir "$live/many"
	for i in {1..150}; do
		echo "$i" >"$live/many/$i"
	done
	strata commit -m many >/dev/null
	many=$(strata head)
	strata checkout stable >/dev/null
	echo dirty >"$live/dirty"
	faults checkout "$many"
}

@test "the next command after an interrupted checkout" {
	make_template
	make_dirty
	# Half-way through a checkout, the live tree is neither the old nor the new one.
	strata commit -m saved >/dev/null
	status=0
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=rename FAULT_AT=2 FAULT_MODE=killafter \
		strata checkout "$side" || status=$?
	[ "$status" = 137 ]
	options=(--unfinished)
	faults commit
}

@test "undo" {
	make_template
	make_dirty
	faults undo
}

@test "redo" {
	make_template
	strata undo 2 >/dev/null
	faults redo
}

@test "restore" {
	make_template
	make_dirty
	faults restore "$side" -- dir side file new
}

@test "tag" {
	make_template
	make_dirty
	faults tag named "$first"
}

@test "delete" {
	make_template
	make_dirty
	options=(--drops)
	faults delete "$side"
}

@test "retain" {
	make_template
	for i in {1..12}; do
		echo "$i" >"$live/file"
		strata commit >/dev/null
	done
	make_dirty
	# These nodes are old enough to be thinned out.
	options=(--drops)
	export STRATA_NOW=$(($(date +%s) + 400 * 86400))
	faults retain --keep 2
}

@test "gc" {
	make_template
	strata delete "$side" >/dev/null
	for _ in {1..6}; do
		head -c 30000 /dev/urandom >"$live/large"
		strata commit -m dead >/dev/null
		strata delete HEAD~1 >/dev/null
	done
	make_dirty
	# gc has work to do: it must rewrite packs.
	cp -a "$template" copy
	packs=$(ls copy/env/packs)
	STRATA_ROOT=$PWD/copy/env strata gc
	[ "$(ls copy/env/packs)" != "$packs" ]
	faults gc
}

@test "import" {
	make_template
	make_dirty
	tar -C src -cf src.tar .
	faults import "$BATS_TEST_TMPDIR/src.tar"
}

# --- a disk that is really full ---

# small_disk TYPE: mount $BATS_TEST_TMPDIR/disk.  teardown unmounts it, even after a failure.
small_disk() {
	need_root
	mkdir disk
	if [ "$1" = tmpfs ]; then
		mount -t tmpfs -o size=8m none disk || unavailable "cannot mount a tmpfs"
		return
	fi
	need mkfs.ext4
	truncate -s 16M disk.img
	PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q -m 0 disk.img
	mount -o loop disk.img disk || unavailable "cannot mount a loop device"
}


fill_disk() {
	dd if=/dev/zero of=disk/fill bs=64k 2>/dev/null || true
	dd if=/dev/zero of=disk/fill2 bs=512 2>/dev/null || true
	sync -f disk
}

full_disk() {
	small_disk "$1"
	make_source
	export STRATA_ROOT=$PWD/disk/env
	live=$STRATA_ROOT/work/main
	strata init --from src
	first=$(strata head)
	head -c 2000000 /dev/urandom >"$live/large"
	echo changed >"$live/file"
	strata commit -m second
	second=$(strata head)
	head -c 1000000 /dev/urandom >"$live/large"
	echo dirty >"$live/dirty"
	walk "$live" --content >before
	fill_disk

	# Nothing can be stored, so there is an error that gives this reason, and nothing changes.
	run -1 --separate-stderr strata commit -m third
	[[ $stderr == *"No space left on device"* ]]
	run -1 --separate-stderr strata checkout "$first"
	[[ $stderr == *"No space left on device"* ]]
	walk "$live" --content | diff before -
	[ "$(strata head)" = "$second" ]
	strata log >/dev/null
	strata status >/dev/null

	rm disk/fill disk/fill2
	strata fsck
	strata commit -m third
	strata checkout "$second"
	[ "$(wc -c <"$live/large")" = 2000000 ]
	[ ! -e "$live/dirty" ]

	# Nothing has to be stored, but there is no room for the files.  All old files still exist.
	strata checkout "$first"
	walk "$live" --content >before
	fill_disk
	run -1 --separate-stderr strata checkout "$second"
	[[ $stderr == *"No space left on device"* ]]
	rm disk/fill disk/fill2
	strata commit
	if [ "$(strata head)" = "$second" ]; then
		[ "$(wc -c <"$live/large")" = 2000000 ]
	else
		walk "$live" --content | diff before -
	fi
	strata fsck
}

@test "a full tmpfs" {
	full_disk tmpfs
}

@test "a full ext4" {
	full_disk ext4
}

@test "a full disk does not hide what was committed last" {
	small_disk tmpfs
	make_source
	export STRATA_ROOT=$PWD/disk/env
	live=$STRATA_ROOT/work/main
	strata init --from src
	echo new >"$live/new"
	# Kill the command after its commit and before it has tidied up.  The node is then in the
	# log of the database.
	points=$PWD/points
	cp -a disk/env copy
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_COUNT=$points STRATA_ROOT=$PWD/copy strata commit -m counted
	for ((at = $(<"$points"); at > 0; at--)); do
		status=0
		rm -rf disk/env
		cp -a copy/. disk/env
		echo newer >"$live/new"
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$at FAULT_MODE=kill strata commit -m last || status=$?
		[ "$status" = 0 ] || [ ! -s disk/env/strata.db-wal ] || break
	done
	[ -s disk/env/strata.db-wal ]
	head=$(strata head)
	fill_disk
	if run -0 strata head; then
		[ "$output" = "$head" ]
	fi
	rm -f disk/env/strata.db-shm disk/fill2
	fill_disk
	run --separate-stderr strata head
	[ "$status" != 0 ] || [ "$output" = "$head" ]
	rm disk/fill disk/fill2
	[ "$(strata head)" = "$head" ]
	strata fsck
}
