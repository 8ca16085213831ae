# destroy: removes the whole environment, with files of every owner, and nothing else.  The result
# is checked without strata.  FAULT_ALL=1 tries a kill at every point.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	owner=
	export STRATA_ROOT=$PWD/env
	mkdir canary
	echo alive >canary/file
	walk . --content >canary.before
}

teardown() {
	[ -z "$owner" ] || kill -KILL "$owner" 2>/dev/null || true
	if [ -d disk ]; then
		chattr -R -i disk 2>/dev/null || true
		umount -R -l disk 2>/dev/null || true
	fi
	! mountpoint -q env/mounted 2>/dev/null || umount -l env/mounted
	strata destroy --yes --kill >/dev/null 2>&1 || true
	strata_teardown
}

# gone_whole [ROOT]: the environment does not exist any more.
gone_whole() { [ ! -e "${1:-env}" ] && [ ! -L "${1:-env}" ]; }
canary_lives() { is "$(cat canary/file)" alive; }

# small: make a plain environment with some history and one file of each kind.
small() {
	mkdir -p src/dir/empty
	echo text >src/file
	ln -s "$PWD/canary" src/out
	ln -s "$PWD/canary/file" src/dir/out
	begin --backend copy
	put new text
	strata commit -m new >/dev/null
	strata fork other >/dev/null
	mkdir -p $W/locked/deep
	echo 1 >$W/locked/deep/file
	chmod 000 $W/locked/deep $W/locked
	ln -s "$PWD/canary" env/link
}

@test "destroy removes a plain environment and its directory, and nothing else" {
	small
	walk src --content >src.before
	run -0 --separate-stderr strata destroy --yes
	is "$output" "destroyed $STRATA_ROOT"
	is "$stderr" ""
	gone_whole
	canary_lives
	walk src --content | diff src.before -
	fails 1 "strata: no environment at '$STRATA_ROOT'
hint: make one with 'strata init --from DIR', or name one with --root" strata log
	fails 1 "strata: no environment at '$STRATA_ROOT'" strata destroy --yes
	begin
	clean
}

@test "destroy --json says what it did" {
	small
	run -0 --separate-stderr strata destroy --yes --json
	is "$(jq -c '[.root, .destroyed, .removed > 20, .directory_stays, .exceptions.unremoved]' <<<"$output")" \
		"[\"$STRATA_ROOT\",true,true,false,0]"
	gone_whole
}

@test "destroy removes overlays with the files of every id, layers and forks" {
	mini_rootfs src
	begin --backend overlay
	ids=(0 0)
	! acts_with_subids && [ "$(command id -u)" != 0 ] || ids=(5 6)
	do_in "mkdir -p /other/deep; echo 1 >/other/deep/file; chown -R ${ids[0]}:${ids[1]} /other; chmod 0 /other/deep; ln -s $PWD/canary /out"
	strata fork one >/dev/null
	strata -w one exec -q -- sh -c 'mkdir -p /mine; echo 2 >/mine/file; chmod 500 /mine'
	strata checkout HEAD~1 >/dev/null
	do_in 'd=/d; i=0; while [ $i -lt 300 ]; do d=$d/d; i=$((i + 1)); done; mkdir -p $d; echo deep >$d/file'
	run -0 strata destroy --yes
	gone_whole
	canary_lives
}

@test "destroy asks on a terminal, and without one needs --yes" {
	small
	usage strata destroy
	usage strata destroy extra
	run -1 on_terminal no
	strata fsck >/dev/null
	run -0 on_terminal y
	gone_whole
}
on_terminal() {
	printf 'expect [y/N]\ntype %s\\n\n' "$1" | "$BATS_TEST_DIRNAME/../tools/terminal.py" "$STRATA" destroy
}

# Programs of this run have a number as argument that no other run uses.
@test "destroy refuses while a program runs, unless told" {
	mini_rootfs src
	begin --backend overlay
	strata fork other >/dev/null
	strata -w other exec --no-commit -- sh -c "sleep 1$$ </dev/null >/dev/null 2>&1 &"
	fails 1 "strata: programs run in workspace 'other'
hint: end it first, or use --kill" strata destroy --yes
	strata fsck >/dev/null
	is "$(strata workspaces --json | jq -c '[.workspaces[] | select(.running) | .name]')" '["other"]'
	"$STRATA" exec -- sleep "2$$" >exec.out 2>exec.err &
	exec=$!
	wait_for runs_in_main
	run -0 strata destroy --yes --kill
	gone_whole
	status=0
	wait $exec || status=$?
	[ $status != 0 ]
	run ! grep -qlszx -e "1$$" -e "2$$" /proc/[0-9]*/cmdline
}
runs_in_main() { [ "$(strata workspaces --json | jq '[.workspaces[] | select(.running)] | length')" = 2 ]; }

@test "destroy refuses while there is an owner, unless told" {
	mini_rootfs src
	begin --backend overlay
	own supervise -- sh -c 'while :; do date >/root/now; sleep 0.1; done'
	fails 1 "strata: an owner has workspace 'main'
hint: end it first, or use --kill" strata destroy --yes
	answers
	run -0 strata destroy --yes --kill
	gone_whole
	wait_for gone "$owner"
}

@test "a tournament ends with destroy --kill" {
	mini_rootfs src
	begin --backend overlay
	"$STRATA" tournament --jobs 2 --test true -- "sleep 3$$" "sleep 4$$" "sleep 5$$" >out.txt 2>&1 &
	tournament=$!
	wait_for second_runs
	run -0 strata destroy --yes --kill
	gone_whole
	status=0
	wait $tournament || status=$?
	[ $status = 1 ]
	run ! grep -qlszx -e "3$$" -e "4$$" -e "5$$" /proc/[0-9]*/cmdline
}
second_runs() { grep -qlszx -e "4$$" /proc/[0-9]*/cmdline; }

@test "destroy waits for a command that is at work" {
	small
	flock env/run/main.lock sleep 1 &
	sleep 0.3
	run -0 strata destroy --yes
	gone_whole
}

@test "a live tree that is used in place stays as it was" {
	for backend in copy overlay; do
		mini_rootfs tree
		walk tree --content >tree.before
		strata init --from tree --in-place --backend $backend >/dev/null
		run -0 strata destroy --yes
		gone_whole
		walk tree --content | diff tree.before -
		STRATA_ROOT=$PWD/tree/.strata
		strata init --from tree --in-place --backend $backend >/dev/null
		run -0 strata destroy --yes
		gone_whole tree/.strata
		touch -d "$(stat -c %y src)" tree src
		walk tree --content | grep -v '^\. ' | diff <(grep -v '^\. ' tree.before) -
		STRATA_ROOT=$PWD/env
		rm -rf tree
	done
}

@test "destroy leaves a directory that is no environment alone" {
	mkdir other
	echo mine >other/file
	fails 1 "strata: no environment at '$PWD/other'" strata --root "$PWD/other" destroy --yes
	fails 1 "strata: no environment at '$PWD/nowhere'" strata --root "$PWD/nowhere" destroy --yes
	is "$(cat other/file)" mine
}

@test "an environment by way of a link: it goes, and the link is the caller's" {
	small
	ln -s env by-link
	run -0 strata --root by-link destroy --yes
	gone_whole
	[ -L by-link ]
}

@test "an init that was killed can be destroyed" {
	mini_rootfs src
	status=0
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=rename FAULT_AT=3 FAULT_STICKY=1 FAULT_MODE=kill \
		strata init --from src --backend overlay || status=$?
	[ $status != 0 ]
	[ ! -e env ] || strata destroy --yes
	gone_whole
}

@test "while an environment is being destroyed every other command says so" {
	small
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=unlink FAULT_AT=3 FAULT_MODE=kill run -137 strata destroy --yes
	for command in status log commit 'checkout HEAD' gc fsck 'exec -- true' 'fork more' workspaces; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr strata $command
		[ "$status" = 1 ] || [ "$status" = 125 ]
		is "$stderr" "strata: the environment at '$STRATA_ROOT' is being destroyed
hint: 'strata destroy' goes on with it"
	done
	fails 1 "strata: the environment at '$STRATA_ROOT' is being destroyed
hint: 'strata destroy' goes on with it" strata init --empty
	run -0 strata destroy --yes
	gone_whole
	canary_lives
}

# killed_at N MODE: kill destroy at that point.  The rest of the environment must work, or must
# explain its state.  A second destroy must remove everything.
killed_at() {
	local status=0
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_STATE=$PWD/state FAULT_AT=$1 FAULT_MODE=$2 \
		"$STRATA" destroy --yes >/dev/null 2>said || status=$?
	rm -f state
	[ $status = 137 ] || [ $status = 0 ] || { echo "$2 at $1: status $status"; cat said; return 1; }
	if [ -e env/strata.db ]; then
		strata fsck >said || { echo "$2 at $1"; cat said; return 1; }
	elif [ -e env ] && [ -n "$(ls -A env)" ]; then
		run -1 --separate-stderr strata status
		[[ $stderr == *"being destroyed"* ]] || { echo "$2 at $1: $stderr"; return 1; }
	fi
	[ ! -e env ] || strata destroy --yes >/dev/null || { echo "again after $2 at $1"; return 1; }
	gone_whole || { echo "left after $2 at $1:"; find env; return 1; }
	canary_lives
}

# killed_everywhere MAKE: try a kill at each point, or at a sample of points that takes only
# seconds.
killed_everywhere() {
	local points at mode step
	$1
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_STATE=$PWD/state FAULT_COUNT=$PWD/points "$STRATA" destroy --yes >/dev/null
	rm -f state
	points=$(<points)
	[ "$points" -gt 20 ]
	step=$(((points + ${2:-25} - 1) / ${2:-25}))
	[ -z "${FAULT_ALL:-}" ] || step=1
	for mode in kill killafter; do
		for ((at = 1; at <= points; at += at < 5 || at > points - 5 ? 1 : step)); do
			$1
			killed_at $at $mode
		done
	done
	echo "# $points points" >&3
}

@test "killed at any call: a plain environment" {
	small
	mv env template
	again() {
		cp -a template env
	}
	chmod 755 template/work/main/locked{,/deep}
	killed_everywhere again
}

@test "killed at any call: an overlay with files of other ids" {
	mini_rootfs src
	# Keep only a few files, so that the test reaches the last point.
	find src/bin -type l ! -name sh ! -name mkdir ! -name chown ! -name echo -delete
	other=0
	! acts_with_subids && [ "$(command id -u)" != 0 ] || other=5
	again() {
		begin --backend overlay
		strata exec -q -- sh -c "mkdir -p /other/deep; echo 1 >/other/deep/file; chown -R $other:$other /other"
	}
	killed_everywhere again 8
}

# small_disk TYPE [OPTION of mkfs]...: make and mount a small disk.
small_disk() {
	need_root
	need "mkfs.$1"
	mkdir disk
	truncate -s "${2:-150M}" disk.img
	PATH=$PATH:/usr/sbin:/sbin "mkfs.$1" -q disk.img
	mount -o loop disk.img disk || unavailable "no loop devices"
	STRATA_ROOT=$PWD/disk/env
}

@test "btrfs: subvolumes, subvolumes in them, and read-only ones" {
	small_disk btrfs
	mini_rootfs src
	for backend in btrfs reflink overlay; do
		begin --backend $backend
		strata fork --count 2 try >/dev/null
		if [ $backend = btrfs ]; then
			btrfs -q subvolume create disk/env/work/main/inner
			echo 1 >disk/env/work/main/inner/file
			btrfs -q subvolume snapshot -r disk/env/work/main/inner disk/env/work/main/inner/fixed
			btrfs property set disk/env/work/try1 ro true
		fi
		run -0 strata destroy --yes
		gone_whole disk/env
		is "$(btrfs subvolume list disk)" ""
	done
}

@test "an immutable file is named and stays; the rest is gone, and the next destroy ends it" {
	small_disk ext4
	mini_rootfs src
	begin --backend copy
	chattr +i disk/env/work/main/etc/passwd
	run -1 --separate-stderr strata destroy --yes --json
	is "$(jq -c '[.destroyed, .directory_stays, .exceptions.unremoved, .exceptions.list[0].path]' <<<"$output")" \
		'[false,true,1,"work/main/etc/passwd"]'
	is "$stderr" "strata: destroy: not everything could be removed
hint: see to what stays, then run 'strata destroy' again: it goes on
strata: work/main/etc/passwd could not be removed: Operation not permitted"
	is "$(cd disk/env && find . -type f | sort | tr '\n' ' ')" "$(cd disk/env && ls -d ./run/* ./strata.db.doomed ./work/main/etc/passwd | sort | tr '\n' ' ')"
	run -1 strata log
	chattr -i disk/env/work/main/etc/passwd
	run -0 strata destroy --yes
	gone_whole disk/env
}

@test "what is mounted in the environment stays" {
	need_root
	small
	mkdir env/mounted
	mount -t tmpfs none env/mounted || unavailable "cannot mount a tmpfs"
	echo precious >env/mounted/file
	run -1 --separate-stderr strata destroy --yes
	[[ $stderr == *"strata: mounted could not be removed: Device or resource busy" ]]
	is "$(cat env/mounted/file)" precious
	umount env/mounted
	run -0 strata destroy --yes
	gone_whole
}

@test "a mount point as the environment's directory stays, empty" {
	small_disk ext4
	rmdir disk/lost+found
	STRATA_ROOT=$PWD/disk
	begin
	run -0 --separate-stderr strata destroy --yes
	is "$output" "destroyed $PWD/disk (its empty directory stays)"
	is "$(ls -A disk)" ""
}

@test "a full disk is no reason to keep an environment" {
	small_disk ext4 16M
	begin
	dd if=/dev/zero of=disk/fill bs=64k 2>/dev/null || true
	dd if=/dev/zero of=disk/fill2 bs=512 2>/dev/null || true
	run -0 strata destroy --yes
	gone_whole disk/env
}
