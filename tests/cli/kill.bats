# kill -9 at random moments, and two processes at once.  KILL_ROUNDS (30) and
# KILL_SEED can be set; the seed is printed.

load helpers

setup() {
	strata_setup
	rounds=${KILL_ROUNDS:-30}
	[ -z "${SANITIZED:-}" ] || rounds=8
	seed=${KILL_SEED:-$SRANDOM}
	RANDOM=$((seed % 32768))
	live=$STRATA_ROOT/work/main
	: >said
	: >errors
	mkdir -p src/dir
	for i in {1..40}; do
		echo "$i" >"src/dir/$i"
	done
	head -c 300000 /dev/urandom >src/large
	strata init --from src >/dev/null
}

# A shell that is killed leaves its child behind: work in one process group.
# What commands say is kept: a node that was reported must be there later.
start() {
	set -m
	"$@" >>"$BATS_TEST_TMPDIR/said" 2>>"$BATS_TEST_TMPDIR/errors" &
	set +m
	started=$!
}

kill_group_soon() {
	sleep "0.$(printf '%03d' $((RANDOM % 80 + 5)))"
	kill -KILL -- "-$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

commit_loop() {
	local i

	for ((i = 0; ; i++)); do
		echo "$BASHPID $i $RANDOM" >"$live/dir/$((i % 50))"
		[ $((i % 7)) != 3 ] || rm -f "$live/dir/$((i * 5 % 50))"
		strata commit -m "$i"
	done
}

checkout_loop() {
	local nodes i

	for ((i = 0; ; i++)); do
		echo "$i" >"$live/dirty"
		# Not what was kept of an interrupted checkout, temporary files and all.
		mapfile -t nodes < <(strata log --json -n 20 |
			jq -r '.nodes[] | select(.message | startswith("as found") | not) | .id')
		strata checkout "${nodes[$((i * 7 % ${#nodes[@]}))]}"
	done
}

gc_loop() {
	local victim

	while :; do
		victim=$(strata log --json -n 30 | jq -r '[.nodes[] | select((.head | not) and (.tags | length == 0)) | .id] | last // empty')
		[ -z "$victim" ] || strata delete "$victim"
		strata gc
	done
}

# Each node with its tree; there is always one.
known_nodes() {
	strata log --json | sed -n -e '/^      "id": /{s/.*: "//; s/",$//; h;}' \
		-e '/^      "tree": /{s/.*: "//; s/",$//; H; x; s/\n/ /p;}' | sort | grep .
}

# Every node of before is still there with its tree, and so is every node that a commit
# reported, unless it was deleted on purpose.
nothing_lost() {
	known_nodes >nodes.now
	comm -23 nodes.known nodes.now | cut -d ' ' -f 1 >nodes.lost
	sed -n 's/^\([0-9a-f]\{12\}\)  .*/\1/p' said | sort -u >nodes.said
	cut -d ' ' -f 1 nodes.now | comm -23 nodes.said - >>nodes.lost
	if [ "${1:-}" = deleting ]; then
		sqlite3 "$STRATA_ROOT/strata.db" "SELECT id FROM tombstone" | sort >nodes.deleted
		sort -u nodes.lost | comm -23 - nodes.deleted >nodes.gone
		mv nodes.gone nodes.lost
	fi
	if [ -s nodes.lost ]; then
		echo "lost:"
		cat nodes.lost
		return 1
	fi
	mv nodes.now nodes.known
}

# Opens, is sound, goes on.
all_is_well() {
	strata status >/dev/null
	run -0 strata fsck
	[[ $output == clean:* ]]
	nothing_lost "${1:-}"
	strata commit >/dev/null
	[[ $(strata status --json) == *$'\n  "dirty": 0,\n'* ]]
	known_nodes >nodes.known
	[ -z "$(find "$live" -name '.strata-*')" ]
}

# Whatever way it got there, the live tree is what its node gives elsewhere.
live_is_head() {
	local elsewhere=$BATS_TEST_TMPDIR/elsewhere

	rm -rf "$elsewhere"
	cp -a "$STRATA_ROOT" "$elsewhere"
	rm -rf "$elsewhere/work/main" "$elsewhere/index/main"
	mkdir "$elsewhere/work/main"
	STRATA_ROOT=$elsewhere strata checkout "$(strata head)" >/dev/null
	same_tree "$live" "$elsewhere/work/main"
}

killed_while() { # LOOP [deleting]
	known_nodes >nodes.known
	for ((round = 0; round < rounds; round++)); do
		start "$1"
		kill_group_soon "$started"
		echo "round $round, seed $seed"
		all_is_well "${2:-}"
	done
	live_is_head
	echo "# seed $seed, $(wc -l <nodes.known) nodes" >&3
}

# What commands say may only be that another one is at work: in the repository, or
# in the live tree, where one loop removes or writes what the other has just looked at.
only_busy() { # FILE
	! grep '^strata: ' "$1" | grep -v -e 'in use by' -e 'nothing left to' -e 'vanished while' -e 'could not be restored: kept' -e 'interrupted checkout was completed'
}

@test "commit, killed at any time" {
	need jq
	killed_while commit_loop
}

@test "checkout, killed at any time" {
	need jq
	for i in {1..5}; do
		echo "$i" >"$live/dir/$i"
		head -c 100000 /dev/urandom >"$live/large"
		strata commit -m "$i" >/dev/null
	done
	killed_while checkout_loop
}

@test "gc, killed at any time" {
	need jq sqlite3
	for i in {1..40}; do
		head -c 20000 /dev/urandom >"$live/large"
		strata commit -m "$i" >/dev/null
	done
	killed_while gc_loop deleting
}

@test "a second process at work while the first is killed again and again" {
	need jq sqlite3
	start commit_loop
	steady=$started
	for ((round = 0; round < rounds; round++)); do
		case $((round % 3)) in
		0) start checkout_loop ;;
		1) start commit_loop ;;
		2) start gc_loop ;;
		esac
		kill_group_soon "$started"
		kill -0 "$steady"
		strata status >/dev/null
		strata log -n 5 >/dev/null
	done
	kill_group_soon "$steady"
	# Whoever was refused was told why.
	only_busy errors
	known_nodes >nodes.known
	all_is_well deleting
	live_is_head
	echo "# seed $seed, $(wc -l <nodes.known) nodes" >&3
}

@test "two committers, a collector and readers at once" {
	need jq sqlite3
	for loop in commit_loop commit_loop gc_loop; do
		start "$loop"
		group+=("$started")
	done
	for _ in {1..25}; do
		strata log >/dev/null
		strata status --json >/dev/null
		strata grep 7 HEAD >/dev/null || [ $? = 1 ]
	done
	for one in "${group[@]}"; do
		kill -KILL -- "-$one"
		wait "$one" 2>/dev/null || true
	done
	only_busy errors
	known_nodes >nodes.known
	all_is_well deleting
	live_is_head
}

# Somebody who has the database open, so that nobody reads its log anew.
hold_database() {
	mkfifo -m 600 "hold.$1"
	sqlite3 "$STRATA_ROOT/strata.db" <"hold.$1" >"held.$1" &
	holder=$!
	exec 8>"hold.$1"
	echo 'SELECT count(*) FROM pack;' >&8
	until [ -s "held.$1" ]; do sleep 0.01; done
}

let_go_of_database() {
	kill -KILL "$holder"
	wait "$holder" 2>/dev/null || true
	exec 8>&-
}

# Its rows are in the log, unseen, and are seen when the log is read anew: what they point at must not have gone.
@test "a commit that dies at any sync, and what comes after it" {
	need sqlite3
	local at after
	for after in gc commit; do
		for at in {1..6}; do
			hold_database "$after-$at"
			echo "$after $at" >"$live/dir/1"
			LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_CALLS=fsync FAULT_AT=$at FAULT_MODE=kill \
				strata commit -m "dies at $at" >>said 2>>errors || true
			case $after in
			gc) strata gc >>said ;;
			commit)
				echo "again $at" >"$live/dir/2"
				LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_CALLS=fsync FAULT_AT=1 FAULT_MODE=kill \
					strata commit -m "dies, too" >>said 2>>errors || true
				;;
			esac
			let_go_of_database
			run -0 strata fsck
			[[ $output == clean:* ]]
		done
	done
}

@test "a second process gets a clear answer" {
	# Somebody holds the workspace for longer than a command waits.
	exec 9>>"$STRATA_ROOT/run/main.lock"
	flock 9
	printf 'process 1 (strata test)\n' >"$STRATA_ROOT/run/main.lock"
	head=$(strata head)
	echo new >"$live/new"
	SECONDS=0
	run -1 --separate-stderr strata commit -m refused
	[ "$SECONDS" -lt 60 ]
	[[ $stderr == *"in use by process 1 (strata test)"* ]]
	# Those who read do not care.
	[ "$(strata head)" = "$head" ]
	strata status >/dev/null
	exec 9>&-
	strata commit -m accepted >/dev/null
	strata fsck >/dev/null
}
