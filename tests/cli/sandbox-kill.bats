# sandbox-kill: any process of strata is killed at any moment, while programs run and write in the
# environment.  KILL_ROUNDS is the number of kills in each test.  By default the file takes about 40 s.  The
# killed processes and the times are printed on failure.  The name of the workspace, and an argument of
# the jobs in it, are unique.  By these, root and an ordinary user find the processes and files that are
# left behind.
load helpers
load history
load rootfs

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	mini_rootfs src
	cp "$TOOLS/treewalk-static" src/treewalk
	mkdir src/data
	for i in {1..40}; do echo "$i" >"src/data/$i"; done
}

setup() {
	strata_setup
	mark=$((SRANDOM % 900000000 + 100000000))
	ws=k$mark
	first=
	: >said
	: >errors
	make_environment overlay
}

make_environment() { # BACKEND
	unset STRATA_WORKSPACE
	strata init --from "$BATS_FILE_TMPDIR/src" --backend "$1" >/dev/null
	strata fork $ws >/dev/null
	export STRATA_WORKSPACE=$ws
	first=$(strata head)
}

teardown() {
	end_everything
	strata_teardown
}

# ------------------------------------------------------------------- looking

# processes: print every process of this environment.  It is found by its arguments, by the overlay in its
# mounts, or by its working directory.
processes() {
	{
		grep -alsF -e "$mark" /proc/[0-9]*/cmdline
		grep -lsF -e "/$ws/upper-" /proc/[0-9]*/mountinfo
		find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$STRATA_ROOT*" 2>/dev/null
	} | cut -d / -f 3 | sort -un | grep -vx "$$"
}

holder_listens() { grep -qF -e "$ws.holder" /proc/net/unix; }
nothing_runs() { ! holder_listens && [ -z "$(processes)" ]; }
job_runs() { grep -qalsF -e "$mark" /proc/[0-9]*/cmdline; }
mounts() { grep -F -e "$BATS_TEST_TMPDIR" -e "$ws" /proc/self/mountinfo || true; }

# holder_pid: print the process id of the holder, which is the parent of every job whose own parent has
# ended.
holder_pid() {
	local job parent
	for job in $(grep -alsF -e "$mark" /proc/[0-9]*/cmdline | cut -d / -f 3); do
		parent=$(sed -n 's/^PPid:\t//p' "/proc/$job/status" 2>/dev/null) || continue
		[ "$(cat "/proc/$parent/comm" 2>/dev/null)" != strata-holder ] || { echo "$parent"; return 0; }
	done
	return 1
}

has_holder() { holder_pid >/dev/null; }

# eventually COMMAND...: repeat the command until it succeeds, for up to five seconds.
eventually() {
	for _ in {1..250}; do
		! "$@" || return 0
		sleep 0.02
	done
	echo "not within 5 s: $*"
	processes | while read -r pid; do
		echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline") $(grep -s State "/proc/$pid/status")"
	done
	return 1
}

end_everything() {
	local pid
	[ -n "${mark:-}" ] || return 0
	for pid in $(processes); do kill -KILL "$pid" 2>/dev/null || true; done
}

# ------------------------------------------------------------------- killing

# start COMMAND...: start a command in a process group of its own, and keep its output.
start() {
	set -m
	"$@" >>said 2>>errors </dev/null 3>&- &
	set +m
	started=$!
}

# pause MICROSECONDS: sleep for a random time up to this maximum, which is often much shorter.
pause() {
	delay=$((SRANDOM % $1))
	[ $((SRANDOM % 3)) != 0 ] || delay=$((delay / 8))
	sleep "$(printf '%d.%06d' $((delay / 1000000)) $((delay % 1000000)))"
}

# strata_processes PID: print the processes of strata that belong to a command: itself, its helpers and
# the holder.  Programs inside the sandbox are left out.
strata_processes() {
	local child
	[[ $(cat "/proc/$1/comm" 2>/dev/null) != strata* ]] || echo "$1"
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do strata_processes "$child"; done
}

# kill_soon MICROSECONDS [WHOM]: kill the command itself, its whole group, or any one process of strata.
# Then wait for its end.
kill_soon() {
	local whom=${2:-} pids
	pause "$1"
	[ -n "$whom" ] || case $((SRANDOM % 3)) in
	0) whom=self ;;
	1) whom=group ;;
	2) whom=any ;;
	esac
	echo "round ${round:-0}: $whom after $delay us"
	case $whom in
	self) kill -KILL "$started" 2>/dev/null || true ;;
	group) kill -KILL -- "-$started" 2>/dev/null || true ;;
	any)
		mapfile -t pids < <(strata_processes "$started")
		whom=$((${#pids[@]} ? SRANDOM % ${#pids[@]} : 0))
		echo "which is ${pids[whom]:-gone}, number $whom of ${#pids[@]}"
		kill -KILL "${pids[whom]:-$started}" 2>/dev/null || true
		;;
	esac
	eventually ended
	wait "$started" 2>/dev/null || true
}
ended() { ! kill -0 "$started" 2>/dev/null; }

# rounds DEFAULT: print the numbers of the rounds of a test.
rounds() {
	local n=${KILL_ROUNDS:-$1}
	[ -z "${SANITIZED:-}" ] || n=4
	seq "$n"
}

# ------------------------------------------------------------------- judging

seen_plain() { in_env /treewalk / --content --one-file-system "${squashed[@]}" | own_entries; }
[ "$(command id -u)" = 0 ] || squashed=(--no-owner)

# same A B: the files must have the same lines.  If not, print the first differences and fail.
same() { diff "$1" "$2" >differs || { head -n 20 differs; return 1; }; }

# head_is_seen: every entry that programs saw (seen.now) must be the same in HEAD.
head_is_seen() {
	rm -rf exported
	strata export HEAD --format dir -o exported >/dev/null
	walk exported --content "${squashed[@]}" | own_entries >seen.head
	same seen.head seen.now
	chmod -R u+rwX exported
}

# nothing_lost: every node that a command has reported must exist.
nothing_lost() {
	strata log --json | jq -r '.nodes[].id' | sort >nodes.there
	{
		sed -n 's/^node \([0-9a-f]\{12\}\)$/\1/p' errors
		sed -n 's/^\([0-9a-f]\{12\}\)  .*/\1/p; s/.* is kept in \([0-9a-f]\{12\}\)$/\1/p' said
	} | sort -u | comm -23 - nodes.there >nodes.lost
	[ ! -s nodes.lost ] || { echo "lost:"; cat nodes.lost; return 1; }
}

# all_is_well: the next commands work, nothing is left behind, and the history is sound.  After a commit,
# programs inside see the tree of HEAD.
all_is_well() {
	seen_plain >seen.now
	strata commit >>said
	head_is_seen
	run -0 strata fsck
	[[ $output == clean:* ]]
	eventually nothing_runs
	is "$(mounts)" ""
}

# nothing_piles_up: all nodes exist.  After a gc, only files that are in use are left of those that killed
# processes have left behind.
nothing_piles_up() {
	nothing_lost
	strata checkout HEAD >/dev/null
	strata gc >/dev/null
	generation=$(readlink "env/work/$ws/stack" | cut -d . -f 2)
	{
		find "env/work/$ws" -mindepth 1 -maxdepth 1 | grep -vE "/(stack|mounted|upper-$generation|ovl-$generation)$"
		find env/layers env/index -mindepth 1 -maxdepth 1 -name '.*' 2>/dev/null
		find env/work -mindepth 1 -maxdepth 1 ! -name main ! -name $ws
	} >left || true
	[ ! -s left ] || { echo "left:"; cat left; return 1; }
}

# start_writer: start a program that writes all the time and goes on after its command has ended.
start_writer() {
	strata exec --no-commit -- sh -c '
		(i=0
		while :; do
			i=$((i + 1))
			echo $i >/root/count.new; mv /root/count.new /root/count
			[ $((i % 20)) != 0 ] || rm -rf /root/dir
			mkdir -p /root/dir/$((i % 7)); echo $i >/root/dir/$((i % 7))/$((i % 11))
			usleep 500
		done) </dev/null >/dev/null 2>&1 &
		sleep '$mark' </dev/null >/dev/null 2>&1 &'
}

# writer_goes_on: the writer must not have been left frozen.
writer_goes_on() {
	local before
	before=$(in_env cat /root/count)
	writer_at() { [ "$(in_env cat /root/count)" != "$before" ]; }
	eventually writer_at
}

# ---------------------------------------------------------------------- exec

@test "exec, killed at any time: what it ran is gone" {
	for round in $(rounds 10); do
		# Some commands are long enough to be killed while they run.  Others are so short that the
		# set-up or the commit is hit.
		if [ $((round % 2)) = 0 ]; then
			start "$STRATA" exec -- sh -c "i=0; sleep $mark & while :; do i=\$((i + 1)); echo \$i >/root/f\$((i % 9)); done"
			kill_soon 120000
		else
			start "$STRATA" exec -- sh -c "echo $round >/root/short"
			kill_soon 25000
		fi
		eventually nothing_runs
		all_is_well
	done
	nothing_piles_up
}

@test "exec, killed while earlier jobs run in the background" {
	for round in $(rounds 4); do
		start_writer
		start "$STRATA" exec -- sh -c "echo $round >/root/mine; sleep $mark"
		kill_soon 60000 self
		# All changes are discarded, since it is not known which command has made which of them.
		strata checkout HEAD >/dev/null
		eventually nothing_runs
		all_is_well
	done
	nothing_piles_up
}

@test "exec, killed: its jobs are gone even where nobody comes after it" {
	for round in $(rounds 4); do
		start "$STRATA" exec --no-commit -- sh -c "sleep $mark & sleep $mark"
		eventually job_runs
		kill_soon 3000 self
		eventually nothing_runs
	done
	all_is_well
}

@test "exec on a plain tree, killed at any time" {
	discard env
	mkdir env
	make_environment copy
	for round in $(rounds 4); do
		start "$STRATA" exec -- sh -c "sleep $mark & i=0; while :; do i=\$((i + 1)); echo \$i >/root/f\$((i % 9)); done"
		kill_soon 100000
		eventually nothing_runs
		all_is_well
	done
}

@test "the holder is killed: everything in it goes, the next exec starts another" {
	for round in $(rounds 4); do
		start_writer
		do_in "echo $round >/root/kept"
		echo "round $round"
		eventually has_holder
		pid=$(holder_pid)
		start "$STRATA" exec -- sh -c "(sleep $mark &); sleep $mark"
		pause 30000
		kill -KILL "$pid"
		# A later command has started another holder.
		eventually ended_with_holder
		eventually nothing_runs
		is "$(in_env cat /root/kept)" "$round"
		all_is_well
	done
	nothing_piles_up
}

ended_with_holder() {
	local pid
	! pid=$(holder_pid) || kill -KILL "$pid" 2>/dev/null || true
	ended
}

# -------------------------------------------------------------------- commit

commit_loop() {
	for ((i = 0; ; i++)); do "$STRATA" commit -m "$i"; done
}

@test "commit, killed at any time under a writer: which goes on" {
	start_writer
	for round in $(rounds 6); do
		start commit_loop
		kill_soon 60000 group
		writer_goes_on
		run -0 strata fsck
		job_runs
	done
	strata checkout HEAD >/dev/null
	eventually nothing_runs
	all_is_well
	nothing_piles_up
}

@test "commit, killed while it has stopped the writer" {
	start_writer
	for round in $(rounds 3); do
		# Content that takes some time to read.
		in_env sh -c 'head -c 12000000 /dev/urandom >/root/large'
		start "$STRATA" commit -m large
		kill_soon 150000 self
		writer_goes_on
	done
	strata checkout HEAD >/dev/null
	eventually nothing_runs
	all_is_well
}

# ---------------------------------------------------- checkout, undo, restore

# make_nodes: make three nodes that differ in many entries, by every kind of difference.
make_nodes() {
	do_in 'for i in $(seq 1 2 40); do echo two >/data/$i; done; rm -r /usr/lib; cp -r /data /two'
	two=$(strata head)
	do_in 'rm -r /data; echo file >/data; mkdir -p /usr/lib/sub; echo 3 >/usr/lib/three; rm /two/1?; ln /two/20 /two/linked; chmod 0700 /two'
	three=$(strata head)
	nodes=("$first" "$two" "$three")
	# shellcheck disable=SC2154 # set by printf
	for i in 0 1 2; do
		strata checkout "${nodes[i]}" >/dev/null
		seen_plain >"seen.${nodes[i]}"
	done
}

# head_is_one_of_three: HEAD must be one of the three nodes, and the live tree must equal it, if no work
# was lost or made.
head_is_one_of_three() {
	in_env true
	is "$(strata status --json | jq .dirty)" 0
	seen_plain >seen.now
	same "seen.$(strata head)" seen.now
}

@test "checkout, undo and redo, killed at any time" {
	make_nodes
	for round in $(rounds 12); do
		case $((SRANDOM % 4)) in
		0) start "$STRATA" undo ;;
		1) start "$STRATA" redo ;;
		*) start "$STRATA" checkout "${nodes[SRANDOM % 3]}" ;;
		esac
		kill_soon 30000
		head_is_one_of_three
		is "$(mounts)" ""
	done
	all_is_well
	nothing_piles_up
}

@test "checkout, killed at any time under a writer" {
	make_nodes
	for round in $(rounds 5); do
		start_writer
		start "$STRATA" checkout "${nodes[SRANDOM % 3]}"
		kill_soon 60000
		in_env true
		strata checkout HEAD >/dev/null
		eventually nothing_runs
		all_is_well
	done
	nothing_piles_up
}

@test "restore, killed at any time: with and without programs that run" {
	make_nodes
	for round in $(rounds 6); do
		strata checkout "${nodes[round % 3]}" >/dev/null
		[ $((round % 2)) = 0 ] || strata exec --no-commit -- sh -c "sleep $mark </dev/null >/dev/null 2>&1 &"
		start "$STRATA" restore "${nodes[(round + 1) % 3]}" -- data usr two
		kill_soon 20000 self
		in_env true
		[ $((round % 2)) = 0 ] || job_runs
		seen_plain >seen.now
		strata commit >>said
		head_is_seen
	done
	strata checkout HEAD >/dev/null
	eventually nothing_runs
	all_is_well
	nothing_piles_up
}

# -------------------------------------------------------- fork and workspaces

names() { strata workspaces --json | jq -r '.workspaces[].name' | sort; }

@test "fork --count 8 and workspaces delete, killed at any time" {
	names >before
	for round in $(rounds 4); do
		start "$STRATA" fork --count 8 "f$round-"
		kill_soon 40000
		in_env true
		# All of the forks exist, or none.
		names | comm -13 before - >made
		[[ $(wc -l <made) == [08] ]]
		[ -s made ] || strata fork --count 8 "f$round-" | sort >made
		for i in 3 8; do
			is "$(strata -w "f$round-$i" exec --no-commit -- cat /usr/lib/one /data/7)" $'library\n7'
		done
		strata -w "f$round-1" exec --no-commit -- sh -c "sleep $mark </dev/null >/dev/null 2>&1 &"
		start "$STRATA" workspaces delete "f$round-1"
		kill_soon 20000
		if names | grep -qx "f$round-1"; then
			is "$(strata -w "f$round-1" exec --no-commit -- cat /usr/lib/one)" library
			strata workspaces delete "f$round-1" >/dev/null
		fi
		eventually nothing_runs
		sed "/-1$/d" made | while read -r name; do strata workspaces delete "$name" >/dev/null; done
	done
	names | diff before -
	strata gc >/dev/null # takes what a killed delete left
	run -0 strata fsck
	all_is_well
	nothing_piles_up
}

# ------------------------------------------------------------------ every call

# cut_off NAME COMMAND...: run a command again and again, and kill it before one file system call after
# the other.  The calls are a sample of all.
cut_off() {
	local name=$1 calls at
	shift
	rm -f calls
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_COUNT=$PWD/calls "$STRATA" "$@" >/dev/null 2>&1 || true
	calls=$(cat calls)
	for _ in $(rounds 3); do
		round=$name
		before_call
		at=$((SRANDOM % calls + 1))
		echo "$name: call $at of $calls"
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$at FAULT_MODE=kill "$STRATA" "$@" >>said 2>>errors </dev/null 3>&- || true
		after_call
	done
}

@test "cut off before any one call: checkout, undo, commit" {
	make_nodes
	before_call() { strata checkout "$two" >/dev/null; }
	after_call() { head_is_one_of_three; }
	before_call
	cut_off checkout checkout "$three"
	before_call
	cut_off undo undo
	before_call() { strata checkout "$two" >/dev/null; strata exec --no-commit -- sh -c 'echo 1 >/root/new; rm -r /two'; }
	after_call() { all_is_well; }
	cut_off commit commit
	cut_off dirty-checkout checkout "$first"
	cut_off restore restore "$first" -- data usr
	nothing_piles_up
}

@test "cut off before any one call: restore under running programs, checkout --live" {
	make_nodes
	before_call() {
		strata checkout "$two" >/dev/null
		strata exec --no-commit -- sh -c "sleep $mark </dev/null >/dev/null 2>&1 &"
	}
	after_call() {
		strata status >/dev/null
		# Programs go on in the tree that was captured.
		do_in 'echo 1 >/root/new'
		seen_plain >seen.now
		head_is_seen
		strata checkout HEAD >/dev/null
		eventually nothing_runs
		is "$(in_env cat /root/new)" 1
	}
	before_call
	cut_off restore restore "$first" -- data usr
	before_call
	cut_off live checkout --live "$first"
	nothing_piles_up
}
