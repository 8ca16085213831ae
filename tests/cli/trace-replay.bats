# trace replay: run a command again, from the state that it found, without changing the machine.
load helpers
load tracing

setup() {
	strata_setup
	need_userns
	mkdir work
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
}

# Print the files that the replay must not change: all files here but those of bats, and its temporary
# directories.
look() {
	walk . --content | grep -Ev '^(\.|separate-stderr-[^ ]*|look\.[a-z]+) '
	find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'strata-replay-*'
}

# replay STATUS [OPTION]...: replay the bundle.  It must end with the status, and must not change any
# file.
replay() {
	local status=$1
	shift
	look >look.before
	run "-$status" --separate-stderr strata trace replay bundle "$@"
	look >look.after
	diff -u look.before look.after
}

same() {
	replay 0
	[[ "$output" =~ ^0\ of\ [1-9][0-9]*\ paths\ differ\;\ exit\ status\ [0-9]+\ as\ before$ ]] ||
		{ echo "$output"; return 1; }
}

some_work() {
	mkdir -p work/src work/old/deep
	echo one >work/src/a
	echo two >work/src/b
	echo gone >work/old/deep/x
	ln -s src/a work/link
	echo run >work/run
}

build() {
	trace sh -c 'cat src/* link >sum; rm -r old; mkdir -p out/d; cp src/a out/d/a; chmod 750 run
		ln -s sum out/link; mkfifo out/fifo; mv src/b src/c; test -e src/none || exit 3' || [ $? = 3 ]
}

@test "what depends on nothing else comes out the same" {
	some_work
	build
	same
	is "$output" "0 of $(strata trace replay bundle --json | jq .same) paths differ; exit status 3 as before"
}

@test "after the tree was changed" {
	some_work
	build
	echo other >work/src/a
	echo appeared >work/src/none
	echo mine >work/out/mine
	chmod 700 work/src
	rm work/sum work/run
	ln -s nowhere work/sum
	mkdir work/run
	same
}

@test "after a directory has become a link and a file" {
	some_work
	build
	mv work/src elsewhere
	ln -s "$PWD/elsewhere" work/src
	rm -rf work/out
	echo file >work/out
	same
}

@test "after the tree was deleted, and the directory it was in" {
	some_work
	mkdir -p parent/deep
	mv work parent/deep/work
	ln -s parent/deep/work work
	build
	rm -rf work/*
	same
	rm -rf parent
	same
}

@test "a directory only looked at is rebuilt as well" {
	some_work
	trace sh -c 'test -s src/a && test -x run || cat link'
	rm -rf work/src work/run
	same
}

@test "what depends on time and chance is listed" {
	some_work
	trace sh -c 'cat /proc/sys/kernel/random/uuid | tee random >"name-$(cat /proc/sys/kernel/random/uuid)"; cat src/a >sum'
	replay 1
	root=$(realpath work)
	grep -qx "~ $root/random  content" <<<"$output"
	is "$(grep -c "^- $root/name-" <<<"$output")" 1
	is "$(grep -c "^+ $root/name-" <<<"$output")" 1
	[[ "$output" == *"3 of "*" paths differ; exit status 0 as before" ]]
	replay 1 --json
	is "$(jq -c '[(.differs | length), .exit_status, .recorded_exit_status, .complete]' <<<"$output")" '[3,0,0,true]'
	is "$(jq -c --arg p "$root/random" '.differs[] | select(.path == $p) | [.what, .recorded.exists, .replayed.type]' <<<"$output")" \
		'[["content"],true,"file"]'
	is "$(jq -c '[.differs[] | select(.what == ["exists"])] | length' <<<"$output")" 2
}

@test "another type, mode and target are told" {
	trace sh -c 'if [ "$OTHER" ]; then mkdir t; touch m; chmod 600 m; ln -s b l; else touch t m; chmod 644 m; ln -s a l; fi'
	same
	export OTHER=1
	replay 1
	root=$(realpath work)
	is "$output" "~ $root/l  target
~ $root/m  mode
~ $root/t  type
3 of $(strata trace replay bundle --json | jq '.same + 3') paths differ; exit status 0 as before"
}

@test "other extended attributes are told, and those that only one run saw are not" {
	need setfattr
	echo one >work/f
	setfattr -n user.a -v 1 work/f 2>/dev/null || unavailable "no extended attributes here"
	setfattr -n user.b -v 2 work/f
	trace sh -c 'setfattr -x user.a f; setfattr -n user.a -v 1 f; echo new >n; setfattr -n user.n -v 1 n'
	cp -a work/f kept
	rm work/f
	same
	mv kept work/f
	trace sh -c 'setfattr -n user.a -v "$(cat /proc/sys/kernel/random/uuid)" f'
	replay 1
	grep -qx "~ $(realpath work)/f  xattr" <<<"$output"
	# Attributes are recorded before a change.  If a run only reads the file, the file is not reported
	# as having lost them.
	trace sh -c '[ -n "$OTHER" ] || exec 3>>f; cat f'
	OTHER=1 same
}

@test "another exit status is a difference" {
	trace sh -c 'exit ${OTHER:-0}'
	same
	export OTHER=7
	replay 1
	[[ "$output" == "0 of "*"; exit status 7, was 0" ]]
	replay 1 --json
	is "$(jq -c '[.differs, .exit_status, .recorded_exit_status]' <<<"$output")" '[[],7,0]'
}

@test "what the command prints is no part of the result" {
	trace sh -c 'cat; echo said; echo bad >&2' </dev/null
	replay 0 --json <<<"not for it"
	is "$(jq -c .differs <<<"$output")" '[]'
	[[ "$stderr" == *said*bad* ]]
}

@test "temporary files do not count, wherever they are" {
	some_work
	trace sh -c 'f=$(mktemp); cat src/a >"$f"; cat "$f" >sum; rm "$f"; g=$(mktemp -p .); rm "$g"'
	same
}

@test "hard links, renamed directories and odd names" {
	some_work
	ln work/src/a work/src/again
	mkdir "work/a,b:c\\d"
	echo odd >"work/a,b:c\\d/"$'new\nline'
	echo latin >work/$'\xe9'
	trace sh -c 'cat src/again; echo more >>src/a; mv old moved; for f in a,*/*; do echo x >>"$f"; done; rm $(printf "\\351"); mkdir "a,b:c\\d/\$HOME"'
	same
	rm -rf work/*
	same
}

@test "a command, and where it was run, with names that are not UTF-8" {
	mkdir work/$'caf\351'
	echo one >work/$'caf\351/f\351'
	(cd work/$'caf\351' && "$STRATA" trace --snapshot-dir "$BATS_TEST_TMPDIR/bundle" -- cp $'f\351' copy)
	is "$(manifest -r '.command_bytes[1]' | base64 -d)" $'f\351'
	is "$(strata trace cat bundle after copy)" one
	is "$(strata trace cat bundle before $'f\351')" one
	rm -rf work/*
	same
}

@test "where it was not covered nothing can be written" {
	mkdir outside
	trace sh -c '[ -z "$OTHER" ] || echo x >../outside/x'
	same
	export OTHER=1
	replay 1
	[[ "$stderr" == *"Read-only file system"* ]]
	[[ "$output" == *"exit status "[1-9]*", was 0" ]]
}

@test "more directories than can be covered one by one" {
	for i in $(seq 100); do mkdir -p work/$i/d; done
	trace sh -c 'for d in */d; do echo x >$d/f; done'
	rm work/*/d/f
	same
}

@test "a content that the bundle lacks is named" {
	mkdir bundle
	cat >bundle/manifest.json <<-EOM
		{"command": ["true"], "exit_status": 0, "start_cwd": "$PWD/work", "files": [
			{"path": "$PWD/work/x", "operations": ["read"], "before": {"exists": true, "type": "file", "size": 5},
			 "after": {"exists": true, "type": "file", "size": 5}}]}
	EOM
	replay 125
	is "$output" ""
	[[ "$stderr" == *"$PWD/work/x"* ]]
	[[ "$stderr" == *"cannot be rebuilt: the bundle lacks what 1 path needs"* ]]
}

@test "a bundle of another tool" {
	echo in >work/in
	mkdir bundle
	cat >bundle/manifest.json <<-EOM
		{"command": ["cp", "in", "out"], "exit_status": 0, "start_cwd": "$PWD/work", "uid": 0, "gid": 0, "files": [
			{"path": "$PWD/work/out", "operations": ["write", "create"], "before": {"exists": false},
			 "after": {"exists": true, "type": "file", "mode": 33188}}]}
	EOM
	replay 0
	sed -i 's/33188/33261/' bundle/manifest.json
	replay 1
	grep -qx "~ $PWD/work/out  mode" <<<"$output"
}

@test "a command that is not there, no command, no bundle" {
	mkdir bundle
	echo "{\"command\": [\"no-such-program\"], \"start_cwd\": \"$PWD/work\", \"files\": []}" >bundle/manifest.json
	replay 125
	[[ "$stderr" == *"no-such-program"* ]]
	echo "{\"start_cwd\": \"$PWD/work\", \"files\": []}" >bundle/manifest.json
	replay 125
	[[ "$stderr" == *"does not say what was run"* ]]
	rm -rf bundle
	replay 125
	run -2 --separate-stderr strata trace replay
}

@test "a path in the root directory cannot be replayed" {
	mkdir bundle
	cat >bundle/manifest.json <<-EOM
		{"command": ["true"], "start_cwd": "/", "files": [{"path": "/strata-no-such-file", "operations": ["create"],
		"before": {"exists": false}, "after": {"exists": true, "type": "file"}}]}
	EOM
	replay 125
	[[ "$stderr" == *"'/strata-no-such-file' lies in the root directory"* ]]
}

@test "a signal ends the command and all of its processes" {
	trace sh -c "[ -z \"\$SLOW\" ] || { setsid sleep 6$$ & sleep 6$$; }"
	SLOW=1 "$STRATA" trace replay bundle >look.out 2>look.err 3>&- &
	local pid=$! i
	for i in $(seq 100); do
		[ "$(pgrep -fc "^sleep 6$$\$")" -lt 2 ] || break
		sleep 0.1
	done
	kill -TERM $pid
	wait $pid && status=0 || status=$?
	is "$status" 125
	grep -q "ended by signal 15" look.err
	run -1 pgrep -f "^sleep 6$$\$"
	! look | grep strata-replay-
}

@test "without user namespaces it says what is missing" {
	need setpriv
	trace true
	run -125 --separate-stderr without_userns setpriv --bounding-set=-all "$STRATA" trace replay bundle
	[[ "$stderr" == *"namespace"* ]]
}

@test "who ignores the end of children can replay" {
	cd work
	trace touch new
	cd ..
	run -0 timeout 20 env --ignore-signal=CHLD "$STRATA" trace replay bundle
}
