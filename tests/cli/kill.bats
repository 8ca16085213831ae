# kill: commands are killed at random moments, and two processes run at once.  KILL_ROUNDS (30) and
# KILL_SEED can be set.  The seed is printed.

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

# start COMMAND...: start a command in a process group of its own, since a killed shell would leave its
# child behind.  The output is kept: every node that was reported must exist later.
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
		# Leave out the nodes of interrupted checkouts, which may contain temporary files.
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

# known_nodes: print each node with its tree.  There is always at least one.
known_nodes() {
	strata log --json | sed -n -e '/^      "id": /{s/.*: "//; s/",$//; h;}' \
		-e '/^      "tree": /{s/.*: "//; s/",$//; H; x; s/\n/ /p;}' | sort | grep .
}

# nothing_lost: every earlier node must still exist with its tree.  So must every node that a commit has
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

# all_is_well: the environment can be opened, is sound, and can be used.
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

# live_is_head: the live tree must be equal to the tree that its node gives in another environment.
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

# only_busy FILE: commands may only have reported that another process was at work: in the repository, or
# in the live tree, where one loop removes or writes the files that the other is reading.
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
	# Every command that failed has printed why.
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

# hold_database: keep the database open in another process, so that no process reads its log again.
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

# The rows of the killed commit are in the log.  They appear when the log is read again, and the files
# that they refer to must still exist.
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
	# Another process has the lock of the workspace for longer than a command waits.
	exec 9>>"$STRATA_ROOT/run/main.lock"
	flock 9
	printf 'process 1 (strata test)\n' >"$STRATA_ROOT/run/main.lock"
	head=$(strata head)
	echo new >"$live/new"
	SECONDS=0
	run -1 --separate-stderr strata commit -m refused
	[ "$SECONDS" -lt 60 ]
	[[ $stderr == *"in use by process 1 (strata test)"* ]]
	# Commands that only read do not wait.
	[ "$(strata head)" = "$head" ]
	strata status >/dev/null
	exec 9>&-
	strata commit -m accepted >/dev/null
	strata fsck >/dev/null
}
