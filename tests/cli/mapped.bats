# mapped: bytes that programs store through a shared mapping are captured, although most such stores
# leave no trace in the times of a file.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	need jq
}

teardown() {
	[ -z "${mapper:-}" ] || kill -KILL "$mapper" 2>/dev/null || true
	[ -z "${mounted:-}" ] || umount -l "$mounted"
	[ -z "${memory:-}" ] || discard "$memory"
	end_owner
}

# mapping COMMAND...: start a mapper.  Descriptors 7 and 8 are its standard input and output.
mapping() {
	mkfifo lines answers
	"$@" <lines >answers 3>&- 7>&- 8>&- &
	mapper=$!
	exec 7>lines 8<answers
	answered mapped
}

answered() {
	local line
	read -r -t 20 -u 8 line
	is "$line" "$1"
}

# store TEXT: store TEXT, and wait until the time of the store is old enough for a scan to trust it.
store() {
	echo "$1" >&7
	answered stored
	sleep 0.1
}

end_mapper() {
	exec 7>&-
	wait "$mapper"
	mapper=
	exec 8<&-
}

# kept FILE TEXT: HEAD contains this text.
kept() { is "$(strata cat "HEAD:$1" | head -c ${#2})" "$2"; }

# Stores to the same page several times.  A node is made after each store, and one when the program
# has ended.
stores_are_kept() { # FILE
	local i
	for i in one two three four; do
		store "$i"
		strata commit -m "$i" >/dev/null
		kept "$1" "$i"
	done
	store last
	end_mapper
	strata commit >/dev/null
	kept "$1" last
	strata fsck >/dev/null
}

@test "in a plain tree" {
	echo old >src/file
	begin
	mapping "$TOOLS/mapper" $W/file
	stores_are_kept file
}

@test "in an overlay" {
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	strata init --from src --backend overlay >/dev/null
	mapping "$STRATA" exec --no-commit -- /mapper /file
	stores_are_kept file
}

@test "in an overlay, of a file that lies below" {
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	echo old >src/file
	ln src/file src/other
	strata init --from src --backend overlay >/dev/null
	mapping "$STRATA" exec --no-commit -- /mapper /file /usr/lib/one
	stores_are_kept usr/lib/one
	kept file last
}

@test "in an overlay, when the name that was mapped is gone" {
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	strata init --from src --backend overlay >/dev/null
	mapping "$STRATA" exec --no-commit -- /mapper /file
	strata exec --no-commit --shell 'ln /file /other && rm /file'
	stores_are_kept other
}

@test "in an overlay, when another file has the name that was mapped" {
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	strata init --from src --backend overlay >/dev/null
	mapping "$STRATA" exec --no-commit -- /mapper /file
	strata exec --no-commit --shell 'ln /file /other && rm /file && echo >"/file (deleted)"'
	stores_are_kept other
}

@test "a thread stores when the first one of the program has ended" {
	echo old >src/file
	begin
	mapping "$TOOLS/mapper" -t $W/file
	stores_are_kept file
}

@test "a mapping that is read-only between stores" {
	echo old >src/file
	begin
	mapping "$TOOLS/mapper" -p $W/file
	stores_are_kept file
}

@test "a file that is excluded by the name it is mapped by, and not by another" {
	echo old >src/file
	strata init --from src --backend copy --exclude '*.log' >/dev/null
	ln env/work/main/file env/work/main/file.log
	mapping "$TOOLS/mapper" env/work/main/file.log
	stores_are_kept file
}

@test "on btrfs, when the name that was mapped is gone" {
	need_root
	need mkfs.btrfs
	truncate -s 200M image
	mkfs.btrfs -q image >/dev/null
	mkdir disk
	mount -o loop image disk || unavailable "no loop devices"
	mounted=disk
	export STRATA_ROOT=$PWD/disk/env
	mkdir disk/env
	echo old >src/file
	strata init --from src --backend copy >/dev/null
	mapping "$TOOLS/mapper" disk/env/work/main/file
	ln disk/env/work/main/file disk/env/work/main/other
	rm disk/env/work/main/file
	stores_are_kept other
}

@test "in a tree that is in memory" {
	memory=$(mktemp -d /dev/shm/strata-mapped.XXXXXX)
	[ "$(stat -f -c %T "$memory")" = tmpfs ] || unavailable "no tmpfs"
	export STRATA_ROOT=$memory/env
	mkdir "$memory/env"
	echo old >src/file
	strata init --from src --backend copy >/dev/null
	mapping "$TOOLS/mapper" "$memory/env/work/main/file"
	stores_are_kept file
}

@test "in an overlay that is in memory, when the name that was mapped is gone" {
	memory=$(mktemp -d /dev/shm/strata-mapped.XXXXXX)
	[ "$(stat -f -c %T "$memory")" = tmpfs ] || unavailable "no tmpfs"
	export STRATA_ROOT=$memory/env
	mkdir "$memory/env"
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	strata init --from src --backend overlay >/dev/null
	mapping "$STRATA" exec --no-commit -- /mapper /file
	strata exec --no-commit --shell 'ln /file /other && rm /file'
	stores_are_kept other
}

@test "in a tree of an overlay of the machine" {
	need_root
	mkdir low up work tree
	echo old >low/file
	mount -t overlay test -o lowerdir=low,upperdir=up,workdir=work tree
	mounted=tree
	strata init --from tree --in-place --backend copy >/dev/null
	mapping "$TOOLS/mapper" tree/file
	stores_are_kept file
}

@test "a mapping without a store is told when nothing changed" {
	echo old >src/file
	begin
	mapping "$TOOLS/mapper" $W/file "$W/od d
x"
	strata commit >/dev/null
	sleep 0.1
	strata commit >/dev/null
	strata commit --json >said
	is "$(jq -c '[.made, .exceptions.mapped]' said)" "[false,2]"
	is "$(jq -r '[.exceptions.list[] | select(.kind == "mapped") | .path] | sort | .[0]' said)" file
	is "$(strata commit 2>&1 >/dev/null | grep -c 'may be changed at any moment')" 2
	end_mapper
	is "$(strata commit --json | jq -c .exceptions.mapped)" 0
}

@test "what a checkout meets is what was stored last" {
	echo old >src/file
	begin
	first=$(strata head)
	mapping "$TOOLS/mapper" $W/file
	store one
	strata commit -m one >/dev/null
	store two
	safety=$(strata checkout "$first" --json | jq -r .safety)
	is "$(strata cat "$safety:file" | head -c 3)" two
	is "$(cat $W/file)" old
}

# Nothing else changes in the tree, so no other event wakes the owner.
owner_keeps_stores() { # FILE
	local i
	stored() { [ "$(strata cat "HEAD:$1" 2>/dev/null | head -c ${#2})" = "$2" ]; }
	for i in one two three; do
		store "$i"
		wait_for stored "$1" "$i"
	done
	end_mapper
	disown_env
}

@test "a daemon keeps it, in an overlay" {
	mini_rootfs src
	cp "$TOOLS/mapper-static" src/mapper
	strata init --from src --backend overlay >/dev/null
	own daemon
	mapping "$STRATA" exec --no-commit -- /mapper /file
	owner_keeps_stores file
}

@test "a daemon keeps it, in a plain tree" {
	mkdir src/d
	echo old >src/d/file
	begin
	own daemon
	mapping "$TOOLS/mapper" $W/d/file
	owner_keeps_stores d/file
}

@test "a daemon keeps it, in a tree that is in memory" {
	memory=$(mktemp -d /dev/shm/strata-mapped.XXXXXX)
	[ "$(stat -f -c %T "$memory")" = tmpfs ] || unavailable "no tmpfs"
	export STRATA_ROOT=$memory/env
	mkdir "$memory/env"
	echo old >src/file
	strata init --from src --backend copy >/dev/null
	own daemon
	mapping "$TOOLS/mapper" "$memory/env/work/main/file"
	owner_keeps_stores file
}
