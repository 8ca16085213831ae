# init: makes an environment from a directory, from a tar file or from nothing.
load helpers
load history

fill() {
	mkdir -p src/dir/empty
	echo text >src/file
	echo more >src/dir/more
	ln -s dir/more src/link
}

@test "init --from makes an environment whose live tree is the directory" {
	fill
	run -0 --separate-stderr strata init --from src
	[ -z "$stderr" ]
	head=$(strata head)
	is "${lines[0]}" "environment $BATS_TEST_TMPDIR/env"
	[[ ${lines[1]} == "node $head: 5 entries, 10 B, stored in "* ]]
	[[ ${lines[2]} == "live tree $BATS_TEST_TMPDIR/env/work/main ("* ]]
	[ ${#lines[@]} = 3 ]
	same_tree src $W
	clean
}

@test "the first node says where it comes from and has no parent" {
	fill
	begin
	is "$(strata show --json | jq -c '[.parent, .kind, .message, .changes.added, .head]')" \
		'[null,"init","init from src",5,true]'
}

@test "init without arguments says what to choose from, here" {
	mkdir project && cd project || return
	run -2 --separate-stderr strata init
	is "$output" ""
	is "$(grep -o '^  strata init .*' <<<"$stderr")" "  strata init --from . --in-place
  strata init --from .
  strata init --from /
  strata init --tarball FILE
  strata init --empty"
	[[ $stderr == "strata: init: say what the environment begins with"* ]]
	[[ $stderr == *"this directory becomes the live tree"* ]]
	[[ $stderr == *"/bin/sh.  'strata exec --bind .:/src'"* ]]
	[[ $stderr == *"The environment would be at '$STRATA_ROOT'"* ]]
	[ "$(grep -v '^The env' <<<"$stderr" | awk 'length > 80')" = "" ]
	mkdir .git
	run -2 --separate-stderr strata init
	[[ $stderr == *"a git repository"* ]]
	# The message describes the actual result.
	strata init --from . --in-place >/dev/null
	is "$(strata status --json | jq -r .work_path)" "$PWD"
	run -2 --separate-stderr strata init
	[[ $stderr == *"There is an environment at '$STRATA_ROOT'"* ]]
	is "$(strata init --json 2>/dev/null | jq -c '[.exists, .git, .shell, .choices[0].arguments]')" \
		'[true,true,false,"--from . --in-place"]'
}

@test "init without arguments in a root file system does not offer to work in it" {
	mkdir -p system/bin && cd system || return
	touch bin/sh
	run -2 --separate-stderr strata init
	is "$(grep -o '^  strata init .*' <<<"$stderr")" "  strata init --from .
  strata init --from . --in-place
  strata init --tarball FILE
  strata init --empty"
	[[ $stderr == *"must stay as it is"* ]]
	[ ! -e "$STRATA_ROOT/strata.db" ]
}

@test "init leaves the source as it was" {
	fill
	walk src --content >before
	begin
	walk src --content | diff before -
}

@test "init --json gives the node, the place and the counts" {
	fill
	run -0 --separate-stderr strata init --from src --json
	is "$(jq -c '[.id, .root, .work_path, .entries, .bytes, .exceptions.unreadable]' <<<"$output")" \
		"[\"$(strata head)\",\"$STRATA_ROOT\",\"$STRATA_ROOT/work/main\",5,10,0]"
	is "$(jq -r .tree <<<"$output")" "$(tree HEAD)"
}

@test "init --empty makes an empty live tree" {
	run -0 strata init --empty
	[ -z "$(ls -A $W)" ]
	is "$(strata show --json | jq -c '[.message, .changes.added]')" '["init from nothing",0]'
	put file text
	strata commit -m first
	strata checkout HEAD~1
	[ -z "$(ls -A $W)" ]
	clean
}

@test "init from an empty directory" {
	begin
	[ -z "$(ls -A $W)" ]
	clean
}

@test "init --tarball reads plain, gz, xz, zst and bz2 into the same tree" {
	fill
	strata --root "$PWD/dir" init --from src >/dev/null
	want=$(strata --root "$PWD/dir" show --json | jq -r .tree)
	for kind in plain gzip xz zstd bzip2; do
		case $kind in
		plain) tar -C src --format=pax --sort=name -cf t.plain . ;;
		*) need $kind; $kind -c t.plain >t.$kind ;;
		esac
		strata --root "$PWD/e-$kind" init --tarball t.$kind >/dev/null
		same_tree src e-$kind/work/main
		is "$(strata --root "$PWD/e-$kind" show --json | jq -r .tree)" "$want"
	done
}

@test "init --tarball - reads standard input" {
	fill
	tar -C src --format=pax -c . | strata init --tarball - >/dev/null
	same_tree src $W
	is "$(strata show --json | jq -r .message)" "init from -"
}

@test "init refuses an existing environment and leaves it alone" {
	fill
	begin
	head=$(strata head)
	fails 1 "strata: there is an environment at '$STRATA_ROOT' already
hint: use another --root, or 'strata destroy' first" strata init --empty
	is "$(strata head)" "$head"
	clean
}

@test "init of one source exactly" {
	usage strata init --empty --from src
	usage strata init --tarball t --from src
	usage strata init --empty --in-place
	usage strata init --from src --exclude ''
	usage strata init --from
	usage strata init --from src extra
	[ ! -e env/strata.db ]
}

@test "init from what is not there, or is no directory" {
	touch file
	fails 1 "strata: no file 'nowhere'" strata init --from nowhere
	fails 1 "strata: open 'file': Not a directory" strata init --from file
	[ ! -e env/strata.db ]
}

@test "a failed init can be repeated" {
	printf 'this is no tar file, but long enough to be taken for a block of one' >t
	run -1 strata init --tarball t
	fill
	begin
	same_tree src $W
	clean
}

@test "an init that was killed is cleared away by the next" {
	mkdir src/d
	seq 3000 | (cd src/d && xargs touch)
	"$STRATA" init --from src >/dev/null &
	while [ ! -e env/strata.db ]; do :; done
	kill -9 $!
	wait $! || true
	if ! strata head; then
		fails 1 "strata: the environment at '$STRATA_ROOT' was never completed
hint: run 'strata init' again" strata head
		strata init --from src >/dev/null
	fi
	same_tree src $W
	clean
}

@test "init makes the directory of --root, with its parents" {
	fill
	strata --root a/b/c init --from src >/dev/null
	same_tree src a/b/c/work/main
	is "$(strata --root=a/b/c status --json | jq -r .root)" "$BATS_TEST_TMPDIR/a/b/c"
}

@test "the environment is for its owner only" {
	begin
	is "$(stat -c %a env/packs env/work env/index env/run env/strata.db | sort -u | tr '\n' ' ')" "600 700 "
}

@test "init --name is shown by status" {
	begin --name 'my world'
	is "$(strata status --json | jq -r .name)" "my world"
	strata status | grep -qx "environment  my world ($STRATA_ROOT)"
}

@test "init --backend copy says that it was asked for" {
	begin --backend copy
	is "$(strata status --json | jq -c '[.backend, .backend_reason]')" '["copy","asked for with --backend"]'
}

@test "init refuses a backend that does not exist" {
	run -1 --separate-stderr strata init --empty --backend nonsense
	is "${stderr_lines[0]}" "strata: no backend 'nonsense' in this build"
}

@test "init without a root uses the nearest .strata above, else the home" {
	fill
	begin
	unset STRATA_ROOT
	mkdir -p p/q
	strata --root p/.strata init --empty --name near >/dev/null
	is "$(cd p/q && "$STRATA" status --json | jq -r .name)" near
	[ "$(id -u)" = 0 ] || fails 1 "strata: no environment at '$HOME/.local/share/strata'
hint: make one with 'strata init --from DIR', or name one with --root" strata head
	[ "$(id -u)" = 0 ] || fails 1 "strata: no environment at '/x/strata'
hint: make one with 'strata init --from DIR', or name one with --root" env XDG_DATA_HOME=/x "$STRATA" head
}

@test "init from a source inside the environment is refused" {
	fails 1 "strata: '$STRATA_ROOT' is inside the environment" strata init --from env
	begin
	strata --root "$PWD/env2" init --from $W >/dev/null
	run -1 strata init --from $W
	clean
}

@test "init does not move into a directory that holds other things" {
	mkdir other
	echo mine >other/file
	fails 1 "strata: '$PWD/other' is not empty
hint: an environment needs a directory of its own: use another --root" strata --root other init --empty
	is "$(ls -A other)" file
}

@test "init from a directory that holds the environment leaves the environment out" {
	fill
	mkdir src/env
	strata --root src/env init --from src >/dev/null
	same_tree src src/env/work/main --exclude env
	[ ! -e src/env/work/main/env ]
}

# --- a failed init leaves nothing ---

# leaves_nothing COMMAND...: the command fails, and leaves the place as it was: missing, or an empty
# directory.
leaves_nothing() {
	local status=0
	rm -rf env deep
	"$@" >said 2>&1 || status=$?
	[ $status != 0 ] || { echo "it worked: $*"; return 1; }
	[ ! -e env ] && [ ! -e deep ] || { echo "left by: $*"; find env deep; return 1; }
	mkdir env
	status=0
	"$@" >said 2>&1 || status=$?
	[ $status != 0 ] && [ -z "$(ls -A env)" ] || { echo "left by: $*"; find env; return 1; }
}

@test "an init that fails leaves nothing, nor the directories it made" {
	fill
	printf 'this is no tar file, but long enough to be taken for a block of one' >t
	leaves_nothing strata init --tarball t
	leaves_nothing strata --root "$PWD/deep/er/env" init --tarball t
	leaves_nothing strata init --tarball nowhere
	leaves_nothing strata init --from src --backend nosuch
	leaves_nothing strata init --from src --in-place --backend nosuch
	if [ "$(id -u)" != 0 ]; then
		mkdir closed
		chmod 0 closed
		leaves_nothing strata init --from closed
	fi
	# Directories that existed before are kept.
	mkdir -p deep/er
	run -1 strata --root "$PWD/deep/er/env" init --tarball t
	is "$(find deep)" $'deep\ndeep/er'
}

@test "an init for which there is no room leaves nothing" {
	fill
	head -c 3000000 /dev/urandom >src/large
	mkdir -p rootfs/bin
	cp "$(command -v busybox)" rootfs/bin/sh
	for source in src rootfs; do
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_STATE=$PWD/state FAULT_COUNT=$PWD/points strata init --from $source >/dev/null
		points=$(<points)
		rm -f state points
		strata destroy --yes >/dev/null
		for ((at = 2; at < points; at += points / 12)); do
			# Removing files needs no room on the disk.
			LD_PRELOAD=$TOOLS/faultlib.so FAULT_STATE=$PWD/state FAULT_MODE=ENOSPC FAULT_STICKY=1 FAULT_AT=$at \
				FAULT_CALLS=write,open,mkdir,symlink,fsync,link,xattr,rename \
				run "$STRATA" init --from $source
			rm -f state
			if [ "$status" = 0 ]; then
				strata fsck >/dev/null
				strata destroy --yes >/dev/null
			fi
			[ ! -e env ] || [ -z "$(ls -A env)" ] || { echo "$source at $at of $points: $output"; find env; return 1; }
		done
	done
}

# stopped SIGNAL guard|worker: send a signal to one of the two processes of an init that waits for
# its input.
stopped() {
	rm -rf env
	mkfifo pipe
	# Background jobs of a shell without job control ignore SIGINT, so the default is restored.
	env --default-signal=INT "$STRATA" init --tarball pipe >said 2>&1 3>&- &
	init=$!
	exec 5>pipe
	tar -C src -c . | head -c 5120 >&5
	for _ in {1..200}; do [ ! -e env/strata.db ] || break; sleep 0.02; done
	[ -e env/strata.db ]
	kill "-$1" "$($2)"
	status=0
	wait $init || status=$?
	exec 5>&-
	rm pipe
}
guard() { echo "$init"; }
worker() { cat "/proc/$init/task/$init/children"; }

@test "an init that is stopped by a signal leaves nothing" {
	fill
	head -c 100000 /dev/urandom >src/large
	for signal in INT TERM HUP; do
		stopped $signal guard
		is $status $((128 + $(kill -l $signal)))
		[ ! -e env ]
	done
	stopped KILL worker
	is $status 137
	[ ! -e env ]
}

@test "an init that was killed with its guard is cleared away by the next" {
	fill
	head -c 100000 /dev/urandom >src/large
	stopped KILL guard
	is $status 137
	for _ in {1..200}; do begin 2>err.txt && break; grep -q 'in use by' err.txt; done
	same_tree src $W
	clean
}
