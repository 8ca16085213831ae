# layers: the size of the layers below an overlay depends on the changes, and not on the place of HEAD in
# the history.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	mkdir -p src/d/e src/big src/links
	for i in $(seq 20); do echo "$i" >src/big/$i; done
	echo 1 >src/d/one
	echo 2 >src/d/e/two
	ln src/d/one src/links/one
	cp "$TOOLS/treewalk-static" src/treewalk
	begin --backend overlay
	first=$(strata head)
	L=env/layers
}

top() { readlink env/work/main/stack | cut -d . -f 3; }
below() { readlink "$L/$1.on" | cut -d . -f 1; }
depth() {
	local at n=0
	for at in $(top); do
		while [[ $at != @* && $at != 0 ]]; do
			n=$((n + 1))
			at=$(below "$at")
		done
	done
	echo $n
}
layer_count() { find $L -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' | wc -l; }
layer_bytes() { with_ids du -s -B1 $L | cut -f 1; }

# eventually COMMAND...: repeat the command until it succeeds, for up to ten seconds.
eventually() {
	for _ in {1..200}; do
		! "$@" || return 0
		sleep 0.05
	done
	echo "not within 10 s: $*"
	return 1
}

# many N: make a change that is large for an upper directory.
many() { do_in "mkdir -p /many/$1; cd /many/$1; for i in \$(seq 300); do echo \$i >\$i; done"; }

# Every kind of change that a layer can contain: removed names, names that are made again or get another
# type, links, attributes, and the root directory itself.
changes=(
	'rm -rf /d/e; echo new >/d/new'
	'mkdir -p /d/e/f; echo 3 >/d/e/f/three'
	'rm -r /big; mkdir /big; echo only >/big/only'
	'rm /d/one; mkdir /d/one; echo in >/d/one/in'
	'rm -r /d/one; ln -s /usr /d/one'
	'ln /d/new /links/new; chmod 4751 /links/new'
	'rm -rf /usr/lib/sub; echo file >/usr/lib/sub'
	'rm /usr/lib/sub; mkdir /usr/lib/sub; mkfifo /usr/lib/sub/pipe'
	'touch -d "2001-02-03 04:05:06" / /big; chmod 711 /d'
	'mv /links /moved; echo more >>/moved/new'
	'rm -rf /big /moved; mkdir -p /big/deep/er; echo x >/big/deep/er/x'
	'rm -rf /d; mkdir /d; chmod 1777 /d'
	'echo last >/last'
)

# make_chain: make a node for each change, each with a layer of its own.
make_chain() {
	local i=0 change
	nodes=("$first")
	seen >seen.0
	for change in "${changes[@]}"; do
		i=$((i + 1))
		do_in "$change"
		nodes[i]=$(strata head)
		seen >seen.$i
		strata checkout HEAD~1 >/dev/null
		strata undo >/dev/null
		diff seen.$i <(seen)
	done
}

@test "the upper directory of a node that is left becomes its layer, and nothing is copied" {
	do_in 'head -c 100000 /dev/zero >/d/large'
	ino=$(stat -c %i env/work/main/upper-*/d/large)
	strata checkout "$first" >/dev/null
	is "$(top)" 0
	is "$(find $L -name large -printf '%i\n')" "$ino"
	strata undo >/dev/null
	is "$(find $L -name large -printf '%i\n')" "$ino"
	is "$(in_env wc -c /d/large)" "100000 /d/large"
	is "$(layer_count)" 1
	strata redo >/dev/null
	strata undo >/dev/null
	is "$(layer_count)" 1
	clean
}

@test "a large change is frozen at once, and later commits look only at what came after" {
	many 1
	is "$(depth)" 1
	is "$(find env/work/main/upper-* -type f | wc -l)" 0
	do_in 'echo 1 >/many/1/1'
	is "$(find env/work/main/upper-* -type f | wc -l)" 1
	is "$(strata diff HEAD~1 HEAD --name-status)" $'M\tmany/1/1'
	clean
	# An upper is not frozen while a program runs in it.
	strata exec -q -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	many 2
	is "$(depth)" 1
	is "$(find env/work/main/upper-* -type f | wc -l)" 301
	strata checkout HEAD >/dev/null
	clean
}

@test "the first visit of a neighbour writes what differs and no more" {
	many 1
	for i in {1..6}; do do_in "echo $i >/d/file$i"; done
	for i in {1..5}; do
		before=$(layer_bytes)
		strata checkout HEAD~1 >/dev/null
		[ $(($(layer_bytes) - before)) -lt 65536 ]
	done
	is "$(in_env ls /d)" $'e\nfile1\none'
	# The same holds if HEAD is at the other end of the history.
	strata checkout "$first" >/dev/null
	before=$(layer_bytes)
	strata fork far HEAD >/dev/null
	strata fork near "$(strata log -n 1 --json | jq -r '.nodes[0].id')" >/dev/null
	[ $(($(layer_bytes) - before)) -lt 65536 ]
	is "$(strata -w near exec -- cat /d/file6 /many/1/300)" $'6\n300'
	clean
}

@test "a chain of all kinds of changes is right at every node, also when it was merged" {
	make_chain
	strata gc >/dev/null
	seen | diff "seen.${#changes[@]}" -
	[ "$(depth)" -le 8 ]
	strata gc >/dev/null
	seen | diff "seen.${#changes[@]}" -
	for i in 3 12 0 7 1 13 5 2 11 8 4 10 6 9; do
		strata checkout "${nodes[i]}" >/dev/null
		echo "node $i"
		seen | diff "seen.$i" -
		clean
	done
	strata fsck >/dev/null
}

@test "long chains are merged without being asked for" {
	for i in {1..12}; do
		do_in "echo $i >/d/file$i"
		strata checkout HEAD~1 >/dev/null
		strata undo >/dev/null
	done
	merged() { in_env true; [ "$(depth)" -le 8 ]; }
	eventually merged
	is "$(in_env sh -c 'cat /d/file*' | sort -n | tail -n 1)" 12
	# A merged layer is a cache like all layers, so nothing is copied to return to its node.
	before=$(layer_bytes)
	strata undo >/dev/null
	strata redo >/dev/null
	[ $(($(layer_bytes) - before)) -lt 65536 ]
	clean
}

# Two commands run at once.  The one that ends last may have written after the capture of the other.
@test "what a second command writes meanwhile is never frozen into the layer of another node" {
	work() {
		for i in 1 2 3 4 5 6; do
			"$STRATA" exec -q -- sh -ec "mkdir -p /c/$1/$i; cd /c/$1/$i; for j in \$(seq 270); do echo \$j >\$j; done" 3>&- || touch failed
		done
	}
	work 1 &
	work 2 &
	wait
	[ ! -e failed ]
	is "$(in_env sh -c 'find /c -type f | wc -l')" 3240
	strata fsck >/dev/null
	strata commit >/dev/null
	discard $L/*
	is "$(in_env sh -c 'find /c -type f | wc -l')" 3240
}

@test "what a running sandbox is mounted of is not dropped" {
	exec 9>env/run/+tend.lock
	flock 9
	for i in {1..12}; do
		do_in "echo $i >/d/file$i"
		strata checkout HEAD~1 >/dev/null
		strata undo >/dev/null
	done
	strata exec -q -- sh -c '(while [ ! -e /tmp/go ]; do sleep 0.1; done; cat /d/file9 /d/file3 >/tmp/out 2>&1) </dev/null >/dev/null 2>&1 &'
	flock -u 9
	strata gc --max-layers 1 >/dev/null
	in_env true
	strata gc >/dev/null
	in_env sh -c 'touch /tmp/go; while [ ! -s /tmp/out ]; do sleep 0.1; done'
	is "$(in_env cat /tmp/out)" $'9\n3'
	strata checkout HEAD >/dev/null
}

@test "a freeze that fails, or loses its layer, loses nothing" {
	need strace
	do_in 'echo precious >/d/one; echo two >/d/two'
	node=$(strata head)
	seen >seen.node
	with_ids cp -a env env.kept
	for call in renameat:error=EIO fsync:error=EIO renameat:signal=KILL; do
		for when in {1..9}; do
			discard env
			with_ids cp -a env.kept env
			echo "$call $when"
			traced strace -f -qq -o /dev/null -e trace="${call%%:*}" -e inject="$call:when=$when" \
				"$STRATA" checkout "$first" >/dev/null 2>&1 3>&- || true
			[ $((when % 2)) = 0 ] || discard $L/*
			strata checkout "$first" >/dev/null
			strata checkout "$node" >/dev/null
			seen | diff seen.node -
			strata fsck >/dev/null
		done
	done
}

@test "layers stay within their limit without gc, also where each is left for the base" {
	strata gc --max-layers 4M >/dev/null
	for i in {1..12}; do
		do_in 'head -c 2000000 /dev/urandom >/d/big'
		strata checkout "$first" >/dev/null
	done
	within() { [ "$(strata du --json | jq .disk.layers)" -le 4194304 ]; }
	eventually within
}

@test "layers stay within their limit between two looks at all of them" {
	strata gc --max-layers 1M >/dev/null
	for i in {1..30}; do
		do_in 'head -c 60000 /dev/urandom >/d/small'
		strata checkout "$first" >/dev/null
	done
	within() { [ "$(strata du --json | jq .disk.layers)" -le 1048576 ]; }
	eventually within
}

# stop_a_look: stop a gc while it removes the files of a layer, long after it has read the state of all
# layers. pid is its process id.  The background process of a checkout may be late and remove the layer
# before gc does.  In that case the function tries again.
stop_a_look() {
	local try
	exec 9>env/run/+tend.lock
	for try in {1..10}; do
		flock -w 20 9
		do_in "echo $try; "'i=0; while [ $i -lt 40 ]; do head -c 50000 /dev/urandom >/d/$i; i=$((i + 1)); done' >/dev/null
		strata checkout "$first" >/dev/null
		flock -u 9
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=unlinkat FAULT_AT=20 FAULT_MODE=stop "$STRATA" gc >/dev/null 9>&- &
		pid=$!
		stopped_or_ended() { ! grep -q '^State:.[RSD]' "/proc/$pid/status" 2>/dev/null; }
		eventually stopped_or_ended
		! grep -q '^State:.T' "/proc/$pid/status" 2>/dev/null || return 0
		wait "$pid"
	done
	echo "no gc had a layer to remove"
	return 1
}

@test "layers made while others look after them are looked at, too" {
	strata gc --max-layers 1M >/dev/null
	stop_a_look
	for i in {1..4}; do
		do_in 'head -c 500000 /dev/urandom >/d/more'
		strata checkout "$first" >/dev/null
	done
	sleep 0.3
	[ "$(strata du --json | jq .disk.layers)" -gt 1048576 ]
	kill -CONT "$pid"
	wait "$pid"
	[ "$(strata du --json | jq .disk.layers)" -le 1048576 ]
}

@test "a merge that cannot be done stops nothing" {
	exec 9>env/run/+tend.lock
	flock 9
	for i in {1..10}; do
		do_in "echo $i >/d/file$i; mkdir -p /l; [ $i != 1 ] || { echo x >/l/f; i=0; while [ \$i -lt 300 ]; do ln /l/f /l/\$i; i=\$((i+1)); done; }"
		strata checkout HEAD~1 >/dev/null
		strata undo >/dev/null
	done
	flock -u 9
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=linkat FAULT_AT=3 FAULT_MODE=EIO "$STRATA" gc --max-layers 1 >/dev/null
	seen >/dev/null
	strata fsck >/dev/null
}

@test "layers stay within their limit, and what is stood on is never dropped" {
	for i in {1..6}; do
		do_in "head -c 300000 /dev/urandom >/d/large$i"
		strata checkout HEAD~1 >/dev/null
		strata undo >/dev/null
	done
	strata fork keep HEAD~3 >/dev/null
	strata checkout "$first" >/dev/null
	before=$(strata du --json | jq .disk.layers)
	[ "$before" -gt 1800000 ]
	run -0 strata gc --max-layers 1M --json
	[ "$(jq .disk_freed.layers <<<"$output")" -gt 500000 ]
	is "$(strata du --json | jq '.disk.layers <= 1048576 and .layers_limit == 1048576')" true
	is "$(strata -w keep exec -- sh -c 'ls /d | grep -c large')" 3
	strata undo >/dev/null
	is "$(in_env sh -c 'cat /d/large* | wc -c')" 1800000
	# This holds even if the layers that are in use exceed the limit.
	strata gc --max-layers 1 >/dev/null
	is "$(in_env sh -c 'cat /d/large* | wc -c')" 1800000
	clean
}

@test "a gc that dies anywhere leaves no half of a layer that counts" {
	make_chain
	with_ids cp -a env env.kept
	rm -f calls
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_COUNT=$PWD/calls "$STRATA" gc --max-layers 1 >/dev/null
	calls=$(cat calls)
	step=$((calls / 40 + 1))
	[ -z "${SANITIZED:-}" ] || step=$((calls / 6 + 1))
	for ((at = 1 + SRANDOM % step; at <= calls; at += step)); do
		echo "call $at of $calls"
		discard env
		with_ids cp -a env.kept env
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$at FAULT_MODE=kill "$STRATA" gc --max-layers 1 >/dev/null 2>&1 || true
		i=$((SRANDOM % ${#nodes[@]}))
		seen | diff "seen.${#changes[@]}" -
		strata checkout "${nodes[i]}" >/dev/null
		seen | diff "seen.$i" -
	done
	strata gc >/dev/null
	strata fsck >/dev/null
}

@test "a checkout that dies anywhere leaves the old tree or the new one" {
	many 1
	seen >seen.many
	many=$(strata head)
	do_in 'rm -rf /d /many/1/1*; echo new >/new'
	seen >seen.new
	with_ids cp -a env env.kept
	rm -f calls
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_COUNT=$PWD/calls "$STRATA" checkout "$many" >/dev/null
	calls=$(cat calls)
	step=$((calls / 60 + 1))
	[ -z "${SANITIZED:-}" ] || step=$((calls / 6 + 1))
	for ((at = 1 + SRANDOM % step; at <= calls; at += step)); do
		echo "call $at of $calls"
		discard env
		with_ids cp -a env.kept env
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_AT=$at FAULT_MODE=kill "$STRATA" checkout "$many" >/dev/null 2>&1 || true
		strata commit >/dev/null
		seen >seen.now
		cmp -s seen.now seen.many || diff seen.new seen.now
		strata checkout "$many" >/dev/null
		seen | diff seen.many -
		strata checkout '@{-1}' >/dev/null
		strata fsck >/dev/null
	done
}

@test "layers are a cache: without them, or after the machine was started anew, they are made again" {
	make_chain
	discard $L/*
	seen | diff "seen.${#changes[@]}" -
	strata checkout "${nodes[4]}" >/dev/null
	seen | diff seen.4 -
	# A mark of another boot counts only after its layer was proved.
	strata checkout "${nodes[9]}" >/dev/null
	strata checkout "${nodes[12]}" >/dev/null
	for mark in $L/*.ok; do ln -sfn 00000000-0000 "$mark"; done
	seen | diff seen.12 -
	is "$(readlink "$L/$(top).ok" | cut -c 1-13)" "$(cut -c 1-13 /proc/sys/kernel/random/boot_id)"
	# A damaged layer is detected.
	for mark in $L/*.ok; do ln -sfn 00000000-0000 "$mark"; done
	with_ids find $L -type f -size -8k -exec sh -c ': >"$1"' sh {} \;
	seen | diff seen.12 -
	clean
}

@test "fsck finds a layer that is not what it was made for" {
	do_in 'echo content >/d/file'
	strata checkout HEAD~1 >/dev/null
	strata undo >/dev/null
	strata fsck >/dev/null
	file=$(find $L -name file -type f)
	echo CONTENT >"$file"
	run -1 strata fsck
	[[ $output == *"layer $(top)"* ]]
	run -0 strata fsck --repair
	is "$(in_env cat /d/file)" content
	strata fsck >/dev/null
}

@test "fsck takes a layer whose tree went with its node for what it is" {
	do_in 'mkdir /far; for i in 1 2 3 4 5 6 7 8 9; do echo $i >/far/$i; done'
	gone=$(strata head)
	strata checkout HEAD~1 >/dev/null
	strata undo >/dev/null
	do_in 'echo 1 >/d/above'
	above=$(strata head)
	strata checkout "$first" >/dev/null
	strata checkout "$above" >/dev/null
	strata checkout "$first" >/dev/null
	strata delete "$gone" >/dev/null
	strata gc >/dev/null
	run -0 strata fsck
	strata checkout "$above" >/dev/null
	is "$(in_env cat /d/above /far/9)" $'1\n9'
	clean
}

@test "a fork of a workspace in which programs run copies what changed since the last freeze" {
	many 1
	strata exec -q -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo 1 >/d/while'
	before=$(layer_bytes)
	strata fork try >/dev/null
	[ $(($(layer_bytes) - before)) -lt 65536 ]
	is "$(strata -w try exec -- cat /d/while /many/1/7)" $'1\n7'
	strata checkout HEAD >/dev/null
}

@test "an environment from before layers formed chains goes on" {
	do_in 'echo two >/d/two'
	strata checkout "$first" >/dev/null
	in_env sh -c 'echo work >/d/work'
	discard $L
	stack=env/work/main/stack
	ln -sfn "$(readlink $stack | cut -d . -f 1,2,4)" $stack
	is "$(strata cat work:d/work)" work
	is "$(in_env cat /d/work)" work
	strata commit >/dev/null
	strata checkout '@{-1}' >/dev/null
	is "$(strata cat '@{-1}:d/work')" work
	clean
}
