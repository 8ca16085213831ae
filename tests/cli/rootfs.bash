# rootfs - makes trees in which programs can run.  Use: load helpers, load history, load rootfs.
# shellcheck shell=bash

# mini_rootfs DIR: make a tree with a shell and the usual small programs, from a static busybox.  Making
# the links for all programs takes hundreds of processes.  So the tree is made once for each test file,
# and then copied.
mini_rootfs() {
	local made=$BATS_FILE_TMPDIR/mini_rootfs
	need busybox || return 1
	if [ ! -e "$made" ]; then
		rm -rf "$made.new"
		make_mini_rootfs "$made.new" && mv "$made.new" "$made" || return 1
	fi
	mkdir -p "$1"
	cp -a "$made/." "$1"
}

make_mini_rootfs() {
	local name
	mkdir -p "$1"/{bin,etc,root,tmp,proc,sys,dev,usr/lib}
	cp "$(command -v busybox)" "$1/bin/busybox"
	for name in $("$1/bin/busybox" --list); do
		[ "$name" = busybox ] || ln -s busybox "$1/bin/$name"
	done
	echo root:x:0:0:root:/root:/bin/sh >"$1/etc/passwd"
	echo root:x:0: >"$1/etc/group"
	: >"$1/etc/resolv.conf"
	mkdir "$1/usr/lib/sub"
	echo library >"$1/usr/lib/one"
	echo deep >"$1/usr/lib/sub/two"
	ln "$1/usr/lib/one" "$1/usr/lib/linked"
}

# in_env COMMAND...: run it in the environment without making a node.
in_env() { strata exec --no-commit -- "$@"; }

# do_in SCRIPT: run a script with the environment's shell.  This makes one node.
do_in() { strata exec -q -- sh -ec "$1"; }

# seen: print the tree as programs in the environment see it, without the mounts in it.
seen() { in_env /treewalk / --content --one-file-system | own_entries; }
own_entries() { grep -Ev '^(proc|sys|dev|etc/resolv\.conf) '; }

# ended PID: whether a process has ended.  It may still wait to be reaped.
ended() {
	local state
	# The process may end before the file is read.
	state=$(grep '^State:' "/proc/$1/status" 2>/dev/null) || return 0
	[[ $state == *Z* ]]
}

# holder_of MARK: print the process id of the holder of the sandbox in which a job with this argument
# runs.
holder_of() {
	local job parent
	while read -r job; do
		parent=$(sed -n 's/^PPid:\t//p' "${job%/*}/status" 2>/dev/null) || continue
		[ "$(cat "/proc/$parent/comm" 2>/dev/null)" != strata-holder ] || echo "$parent"
	done < <(grep -alsF -e "$1" /proc/[0-9]*/cmdline)
}

# add_programs DIR PROGRAM...: copy programs of this machine into a tree, with the libraries that they
# need.
add_programs() {
	local dir=$1 program path file
	shift
	for program; do
		path=$(PATH=/usr/bin:/bin:/usr/sbin:/sbin command -v "$program") || { unavailable "no $program"; return 1; }
		add_file "$dir" "$path" && add_libraries "$dir" "$path" || return 1
	done
	for file in libnss_files.so.2 libnss_dns.so.2; do
		path=$(ldconfig -p 2>/dev/null | sed -n "s/.*$file .*=> //p" | head -n 1)
		[ -z "$path" ] || add_file "$dir" "$path"
	done
}

add_libraries() { # DIR FILE
	local library
	while read -r library; do
		add_file "$1" "$library" || return 1
	done < <(ldd "$2" 2>/dev/null | grep -o '/[^ ]*')
}

# Copy a file to the path at which programs look for it, even if directories in this path are links on
# this machine.
add_file() { # DIR FILE
	[ ! -L "$1$2" ] || rm "$1$2"
	[ -e "$1$2" ] || { mkdir -p "$1$(dirname "$2")" && cp -L "$2" "$1$2"; }
}

# add_python DIR MODULE...: copy the machine's python into a tree, with the files that these modules load.
add_python() {
	local dir=$1 file
	shift
	add_programs "$dir" python3 || return 1
	while read -r file; do
		add_file "$dir" "$file" && add_libraries "$dir" "$file" || return 1
	done < <(/usr/bin/python3 -IBc "import sys, os, encodings.idna, $(printf '%s, ' "$@" | sed 's/, $//')"'
for module in sys.modules.values():
	file = getattr(module, "__file__", None)
	if file: print(os.path.realpath(file) if os.path.islink(file) else file)')
}
