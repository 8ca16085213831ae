# exec --policy: the rules of a policy about files, programs and system calls.  A static program
# tries forbidden actions with raw system calls.  Each action must be possible without the policy.
# Otherwise a test would prove nothing.
# shellcheck disable=SC2016,SC2054 # for jq, the policies, the shell inside; things to try have commas
load helpers
load history
load rootfs

setup() {
	strata_setup
	need jq
	mini_rootfs src
	cp "$TOOLS/forbid-static" src/bin/forbid
	mkdir -p src/w/free
	echo text >src/w/file
	echo '{"preset":"offline"}' >p.json
}

teardown() {
	[ -z "${started:-}" ] || kill -KILL "$started" 2>/dev/null || true
	strata checkout HEAD >/dev/null 2>&1 || true
	umount disk 2>/dev/null || true
	strata_teardown
}

# policy JSON: write the policy.
policy() { printf '%s\n' "$1" >p.json; }

# confined [OPTION]...  -- COMMAND...: run a command under p.json, with /w as the workspace.
# Denials go to denials.jsonl.
confined() { strata exec --policy p.json --denials denials.jsonl --cwd /w "$@"; }
# try THING...: try these things under the policy.  $output is the output of forbid.  All of them
# must be refused.
try() {
	local status=0
	confined -q -- forbid "$@" >tried 2>said || status=$?
	output=$(cat tried)
	[ $status = 0 ] || { cat tried said; return 1; }
}
# free THING...: all of these things succeed without the policy.
free() {
	local status=0
	strata exec --no-commit --cwd /w -- forbid "$@" >tried 2>said || status=$?
	! grep -v ': done$' tried || { cat said; return 1; }
	strata checkout HEAD --force >/dev/null 2>&1 || strata checkout HEAD >/dev/null
}

# denied WHAT PATH: denials.jsonl has such a denial, with its rule and a remedy.
denied() {
	jq -es --arg what "$1" --arg path "$2" \
		'map(select(.what == $what and (.path // .name) == $path and .rule != "" and .remedy != "")) | length > 0' \
		denials.jsonl >/dev/null || { echo "no denial: $1 $2"; cat denials.jsonl; return 1; }
}
# no_stubs: the live tree has none of the names that the policy keeps from being made.
no_stubs() {
	local found
	found=$(with_ids find env/work -path '*/w/*' \( -name .vscode -o -name .idea -o -name .mcp.json -o -name .claude -o -name .codex \) -print 2>/dev/null || true)
	is "$found" ""
}
soon() {
	local i
	for ((i = 0; i < 300; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.02
	done
	echo "never: $*"
	"$@"
}

# ----------------------------------------------------------------- repositories

# Make, without git, the files of git: a repository with a submodule and a worktree, and one in a
# subdirectory.
repositories() {
	local dir
	for dir in src/w/.git src/w/.git/modules/sub src/w/sub2/deep/.git; do
		mkdir -p "$dir/hooks" "$dir/refs/heads"
		echo 'ref: refs/heads/main' >"$dir/HEAD"
		echo '[core]' >"$dir/config"
		echo '#!/bin/sh' >"$dir/hooks/pre-commit"
		chmod +x "$dir/hooks/pre-commit"
	done
	mkdir -p src/w/sub src/w/tree src/w/.git/worktrees/tree
	echo 'gitdir: ../.git/modules/sub' >src/w/sub/.git
	echo 'gitdir: /w/.git/worktrees/tree' >src/w/tree/.git
	echo ../.. >src/w/.git/worktrees/tree/commondir
	echo /w/tree/.git >src/w/.git/worktrees/tree/gitdir
	echo 'ref: refs/heads/main' >src/w/.git/worktrees/tree/HEAD
}

GITS=(/w/.git /w/.git/modules/sub /w/sub2/deep/.git)

@test "hooks and configurations of repositories, submodules and worktrees can be changed in no way" {
	local git things=() file
	repositories
	begin
	for git in "${GITS[@]}"; do
		things+=("write=$git/config" "creat=$git/config" "creat=$git/config.worktree" "creat=$git/commondir" "rename=/w/file,$git/commondir" "truncate=$git/config" "chmod=$git/config"
			"setxattr=$git/config" "unlink=$git/config" "rename=$git/config,$git/c" "rename=/w/file,$git/config"
			"exchange=/w/file,$git/config" "link=$git/config,/w/free/c"
			"write=$git/hooks/pre-commit" "creat=$git/hooks/new" "mkdir=$git/hooks/new" "symlink=/w/file,$git/hooks/new"
			"link=/w/file,$git/hooks/new" "rename=/w/file,$git/hooks/new" "link=$git/hooks/pre-commit,/w/free/h"
			"unlink=$git/hooks/pre-commit" "rename=$git/hooks,$git/h" "exchange=/w/free,$git/hooks" "mkfifo=$git/hooks/new")
	done
	for file in /w/sub/.git /w/tree/.git /w/.git/worktrees/tree/commondir /w/.git/worktrees/tree/gitdir; do
		things+=("write=$file" "creat=$file" "unlink=$file" "rename=$file,/w/free/f" "exchange=/w/file,$file" "link=$file,/w/free/f")
	done
	try "${things[@]}"
	is "$(wc -l <<<"$output")" "${#things[@]}"
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" $'EBUSY\nEROFS\nEXDEV'
	clean
	denied write /w/.git/config
	denied write /w/.git/modules/sub/hooks/new
	denied write /w/sub2/deep/.git/hooks
	denied write /w/tree/.git
	# The content of this file means the same to git as a missing file.
	is "$(confined -q -- cat /w/.git/commondir /w/.git/worktrees/tree/commondir)" $'.\n../..'
	# Other actions of git still work.
	confined -q -- sh -ec 'echo x >/w/.git/refs/heads/main; echo y >/w/.git/index; mv /w/.git/index /w/.git/index2; mkdir /w/.git/refs/hooks; echo z >/w/sub2/deep/.git/index'
	strata checkout HEAD >/dev/null
	# Without a policy, all of these actions are possible.
	for thing in "write=/w/.git/config" "link=/w/.git/config,/w/free/c" "rename=/w/file,/w/.git/config" "unlink=/w/tree/.git"; do
		free "$thing"
	done
}

@test "a repository stays one when a program has renamed its HEAD" {
	local git
	repositories
	rm -r src/w/.git/modules/sub/hooks
	begin
	for git in /w/.git/modules/sub /w/.git/worktrees/tree; do
		confined -q -- mv $git/HEAD $git/H
	done
	try mkdir=/w/.git/modules/sub/hooks creat=/w/.git/modules/sub/config.worktree creat=/w/.git/worktrees/tree/config.worktree
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" $'EEXIST\nEROFS'
}

@test "neither a repository nor a directory above it can be renamed away or replaced" {
	local dir things=()
	repositories
	# In an overlay this would fail in any case.
	begin --backend copy
	for dir in /w/.git /w/sub2 /w/sub2/deep /w/sub2/deep/.git /w/sub /w/.git/modules /w/.git/modules/sub /w/tree; do
		things+=("rename=$dir,/w/free/away" "exchange=$dir,/w/free" "rmdir=$dir")
	done
	try "${things[@]}" "rename=/w,/tmp/w"
	is "$(wc -l <<<"$output")" "$((${#things[@]} + 1))"
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" $'EBUSY\nEXDEV'
	clean
	for dir in /w /w/.git /w/sub2 /w/sub2/deep /w/sub2/deep/.git /w/sub /w/.git/modules /w/.git/modules/sub /w/tree; do denied write "$dir"; done
	# The denial names the place that prevents the change.
	is "$(jq -r 'select(.path == "/w/sub2/deep") | .rule' denials.jsonl | sort -u)" "always protected: git hooks, '/w/sub2/deep/.git/hooks'"
	# Other directories can be renamed, also those beside the protected ones.
	confined --no-commit -- sh -ec 'mv /w/free /w/sub2/f && mv /w/sub2/f /w/free && mkdir /w/sub2/deep/x && rmdir /w/sub2/deep/x'
	free "rename=/w/sub2,/w/free/away"
}

@test "what the policy names is free: hooks by name, the configuration by allow_git_config" {
	repositories
	begin
	policy '{"preset":"offline","fs":{"allow_write":["$WORKSPACE","$WORKSPACE/.git/hooks","/w/.mcp.json"]}}'
	run -1 --separate-stderr confined --no-commit -- forbid creat=/w/.git/hooks/new write=/w/.git/config creat=/w/.mcp.json
	is "$output" $'creat=/w/.git/hooks/new: done\nwrite=/w/.git/config: EROFS\ncreat=/w/.mcp.json: done'
	strata checkout HEAD >/dev/null 2>&1
	policy '{"preset":"offline","fs":{"allow_git_config":true}}'
	run -1 --separate-stderr confined --no-commit -- forbid creat=/w/.git/hooks/new write=/w/.git/config
	is "$output" $'creat=/w/.git/hooks/new: EROFS\nwrite=/w/.git/config: done'
}

# -------------------------------------------------------- names that do not exist

@test "protected names cannot be made, and nothing of what stands for them is left" {
	begin
	before=$(strata exec --no-commit -- stat -c '%y %a %u' /w /root)
	# git would add an empty file to a commit, but it ignores an empty directory.
	is "$(confined --no-commit -q -- stat -c %F /w/.mcp.json)" directory
	try mkdir=/w/.vscode creat=/w/.mcp.json symlink=/tmp,/w/.claude mkfifo=/w/.idea link=/w/file,/w/.codex \
		rename=/w/free,/w/.vscode mkdir=/w/.git mkdir=/w/.git/hooks rename=/w/free,/w/.git symlink=/tmp,/w/.git \
		creat=/w/.git/config creat=/root/.bashrc creat=/root/.config/git/config creat=/w/.vscode/x
	is "$(wc -l <<<"$output")" 14
	for path in /w/.vscode /w/.mcp.json /w/.claude /w/.idea /w/.codex /w/.git /w/.vscode/x; do denied write "$path"; done
	is "$(strata exec --no-commit -- ls -A /w)" $'file\nfree'
	is "$(strata exec --no-commit -- stat -c '%y %a %u' /w /root)" "$before"
	is "$(strata exec --no-commit -- ls -A /root)" ""
	no_stubs
	clean
	free mkdir=/w/.vscode creat=/w/.mcp.json symlink=/tmp,/w/.claude mkdir=/w/.git
}

@test "a directory in which a name is kept from being made can be changed, and what is made there stays" {
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w","/root"]}}'
	confined -q -- sh -ec 'mkdir -p /root/.config/mine; echo 1 >/root/.config/mine/x; echo 2 >/w/new; ! mkdir /root/.config/git'
	is "$(strata exec --no-commit -- ls -A /root/.config /root)" $'/root:\n.config\n\n/root/.config:\nmine'
	is "$(strata show --json | jq -r '.paths[]' | sort | tr '\n' ' ')" "root/.config root/.config/mine root/.config/mine/x w/new "
	no_stubs
}

@test "what stands for a name is in no node of another process, nor of two commands at once" {
	begin
	confined -q -- sh -c 'echo 1 >/w/one; while ! [ -e /w/go ]; do usleep 10000; done' &
	started=$!
	soon strata exec --no-commit -- test -e /w/one
	node=$(strata commit -m meanwhile --json | jq -r .id)
	is "$(strata ls "$node":w --json | jq -r '.entries[].name' | tr '\n' ' ')" "file free one "
	# Another command needs the same names, and ends first.
	confined -q -- sh -c '! mkdir /w/.vscode && echo 2 >/w/two'
	is "$(strata ls HEAD:w --json | jq -r '.entries[].name' | tr '\n' ' ')" "file free one two "
	# The names of the first command are still protected.
	strata exec --no-commit -- test -d /w/.vscode
	# Now the command that has made the names ends first.
	confined -q -- sh -c 'while ! [ -e /w/go2 ]; do usleep 10000; done; ! mkdir /w/.vscode && echo 3 >/w/three' &
	other=$!
	sleep 0.3
	strata exec -q -- touch /w/go
	wait $started
	started=$other
	strata exec -q -- touch /w/go2
	wait $other
	is "$(strata ls HEAD:w --json | jq -r '.entries[].name' | tr '\n' ' ')" "file free go go2 one three two "
	no_stubs
	clean
}

# wardens MARK: print the processes that keep commands with this argument under their policies.
wardens() {
	local file
	while read -r file; do
		[ "$(cat "${file%/cmdline}/comm" 2>/dev/null)" != strata-warden ] || echo "${file//[!0-9]/}"
	done < <(grep -alsF -e "$1" /proc/[0-9]*/cmdline)
}
has_wardens() { [ -n "$(wardens "$1")" ]; }
no_wardens() { ! has_wardens "$1"; }
no_program() { ! running "$1"; }
running() { strata ps --json | jq -e --arg mark "$1" 'any(.processes[].argv[]?; . == $mark)' >/dev/null; }

@test "after a kill -9 of strata, of the warden or of the holder nothing is left of such names" {
	local mark=1234$$
	# Names in directories above them are removed, too.
	policy '{"preset":"offline","fs":{"allow_write":["/w","/root"]}}'
	begin
	for whom in strata warden holder; do
		"$STRATA" exec --policy p.json --cwd /w -q -- sleep $mark >/dev/null 2>&1 3>&- &
		started=$!
		soon has_wardens $mark
		soon running $mark
		case $whom in
		strata) kill -KILL $started ;;
		warden) kill -KILL "$(wardens $mark)" ;;
		holder) kill -KILL "$(holder_of $mark | head -1)" ;;
		esac
		soon no_wardens $mark
		# No node contains the stubs, not even directly after the kill.
		is "$(strata commit -m "$whom" --json | jq .made)" false
		[ $whom != warden ] || strata checkout HEAD >/dev/null
		wait $started 2>/dev/null || true
		# A later command and its end remove the stubs.
		confined -q -- true
		is "$(strata exec --no-commit -- ls -A /w /root)" $'/root:\n\n/w:\nfile\nfree'
		no_stubs
		clean
	done
}

# killed_warden: denials.jsonl, or the node $1, reports that a warden was killed.
killed_warden() { jq -es 'map(select(.what == "warden" and ((.name // .subject) | startswith("killed")))) | length == 1' "$1" >/dev/null; }

@test "a killed warden takes all that its command runs along, is told of, and leaves nothing in a bind" {
	local mark=2345$$ status=0 bound
	mkdir -p host/sub src/mnt
	bound=$(find host | sort)
	begin
	policy '{"preset":"offline","fs":{"allow_write":["/w","/mnt"]},"limits":{"max_processes":100}}'
	# Beside the command there are two processes: one in a session of its own, and one in mounts
	# of its own.
	"$STRATA" exec --policy p.json --denials denials.jsonl --cwd /mnt --bind host:/mnt -q -- sh -c \
		'echo 1 >/w/one; setsid sleep '$mark' & sleep '$mark' & exec sleep '$mark >out.txt 2>said 3>&- &
	started=$!
	soon has_wardens $mark
	soon running $mark
	[ -d host/.vscode ]
	kill -KILL "$(wardens $mark | head -1)"
	wait $started || status=$?
	is $status 137
	is "$(find host | sort)" "$bound"
	killed_warden denials.jsonl
	grep -F 'strata: warden killed by signal 9 (' said
	soon no_program $mark
	# The command has changed a file, so there is a node.  The node reports the kill, too.
	strata show --json | jq -c '.denials[]' >shown.jsonl
	killed_warden shown.jsonl
	clean
}

@test "a warden that is killed when strata has ended takes what still runs along, and the next node says so" {
	local mark=3456$$
	mkdir -p host src/mnt
	begin
	policy '{"preset":"offline","fs":{"allow_write":["/w","/mnt"]}}'
	"$STRATA" exec --policy p.json --cwd /mnt --bind host:/mnt -q -- sh -c 'setsid sleep '$mark' >/dev/null 2>&1 &' 3>&-
	soon running $mark
	kill -KILL "$(wardens $mark | head -1)"
	soon no_program $mark
	# Another command removes the stubs, although it has neither a policy nor the bind.
	strata exec -q -- touch /w/next
	is "$(find host | sort)" host
	strata show --json | jq -c '.denials[]' >shown.jsonl
	killed_warden shown.jsonl
	strata exec -q -- touch /w/after
	is "$(strata show --json | jq '.denials | length')" 0
	no_stubs
}

# bound ENVIRONMENT MARK: run a command there until host/go-MARK exists.  Then it must not be able to
# make protected names in the bind.
bound() {
	STRATA_ROOT=$PWD/$1 exec "$STRATA" exec --policy p.json --cwd /mnt --bind host:/mnt -q -- sh -c \
		": >ready-$2; while ! [ -e go-$2 ]; do usleep 10000; done; ! mkdir .vscode && ! mkdir .git && ! mkdir sub/.git/hooks && ! touch sub/.git/config.worktree" >/dev/null 2>&1 3>&-
}

@test "of two environments that bind one directory, each keeps names from being made until its own command has ended" {
	local left
	mkdir -p host/sub/.git src/mnt
	: >host/sub/.git/HEAD
	begin
	STRATA_ROOT=$PWD/env2 begin
	policy '{"preset":"offline","fs":{"allow_write":["/w","/mnt"]}}'
	# The one that has made the names ends first, and the next time the other one.
	for first in 1 2; do
		bound env 1 &
		started=$!
		soon test -e host/ready-1
		bound env2 2 &
		other=$!
		soon test -e host/ready-2
		touch host/go-$first
		if [ $first = 1 ]; then wait $started; else wait $other; fi
		[ -d host/.vscode ]
		[ -f host/sub/.git/config.worktree ]
		touch host/go-$((3 - first))
		if [ $first = 1 ]; then wait $other; else wait $started; fi
		rm host/go-* host/ready-*
		is "$(find host | sort | tr '\n' ' ')" "host host/sub host/sub/.git host/sub/.git/HEAD "
	done
	# A killed warden's names are removed by the next command of its environment, but for those
	# that the other environment needs.
	bound env 1 &
	started=$!
	soon test -e host/ready-1
	left=$(wardens go-1)
	bound env2 2 &
	other=$!
	soon test -e host/ready-2
	kill -KILL "$left"
	wait $started || true
	strata exec -q -- touch /w/next
	[ -d host/.vscode ]
	touch host/go-2
	wait $other
	started=
	rm host/go-* host/ready-*
	is "$(find host | sort | tr '\n' ' ')" "host host/sub host/sub/.git host/sub/.git/HEAD "
}

@test "the command ends with a strata that is killed, and leaves no pipe open with one that ends" {
	local mark=4321$$
	begin
	"$STRATA" exec --policy p.json -q -- sleep $mark >/dev/null 2>&1 3>&- &
	started=$!
	soon running $mark
	kill -KILL $started
	wait $started 2>/dev/null || true
	soon no_wardens $mark
	no_program $mark
	# The pipe ends when the command ends, whatever processes it has left.
	timeout 20 sh -c '"$STRATA" exec -q --policy p.json -- sh -c "sleep '$mark' >/dev/null 2>&1 </dev/null &" | cat' || return 1
	soon running $mark
	# Such a process is still under the policy, and can continue.
	has_wardens $mark
	strata checkout HEAD >/dev/null
	soon no_wardens $mark
}

# ------------------------------------------------------------------------ files

@test "what no rule allows cannot be read, listed, changed or made" {
	mkdir -p src/w/secret/open src/w/free/private
	echo key >src/w/secret/key
	echo fine >src/w/secret/open/fine
	echo other >src/root/other
	begin
	policy '{"fs":{"allow_read":["/bin","/w","/etc/passwd"],"deny_read":["/w/secret"],"allow_read_within_deny":["/w/secret/open"],
		"allow_write":["/w/free","/w/secret/open"],"deny_write_within_allow":["/w/free/private"]}}'
	# A mask is empty, and a path that is not allowed at all does not exist.
	try read=/w/secret/key stat=/w/secret/key list=/w/secret read=/root/other list=/root stat=/root/other list=/ read=/proc/1/root/root/other \
		list=/proc/self/root/root read=/etc/group
	is "$(grep -v '^list=/:' <<<"$output" | sed 's/.*: //' | sort -u | tr '\n' ' ')" "EACCES ENOENT "
	try write=/w/secret/key creat=/w/secret/new mkdir=/w/secret/new unlink=/w/secret/key
	try creat=/w/new write=/w/file truncate=/w/file mkdir=/w/new mkfifo=/w/new symlink=/bin,/w/new \
		link=/w/file,/w/free/file link=/w/file,/w/other rename=/w/file,/w/free/file rename=/w/file,/w/other exchange=/w/file,/w/free unlink=/w/file \
		rmdir=/w/free chmod=/w/file setxattr=/w/file creat=/w/free/private/new creat=/bin/new write=/bin/busybox creat=/etc/new \
		write=/proc/self/root/w/file creat=/w/free/../new
	is "$(sed 's/.*: //' <<<"$output" | sort -u | tr '\n' ' ')" "EROFS EXDEV "
	for path in /w/new /w/file /w/free/private/new /bin/busybox; do denied write "$path"; done
	[ ! -r /dev/fuse ] || denied read /w/secret/key
	clean
	confined -q -- sh -ec 'cat /w/secret/open/fine /etc/passwd; echo 1 >/w/free/one; mkdir /w/free/d; mv /w/free/one /w/free/d; echo 2 >>/w/secret/open/fine' | grep -x fine
	is "$(strata show --json | jq -r '.paths[]' | tr '\n' ' ')" "w/free/d w/free/d/one w/secret/open/fine "
}

@test "links lead out of a rule only to what is allowed as well" {
	mkdir -p src/w/secret
	echo key >src/w/secret/key
	ln -s /w/secret/key src/w/free/key
	ln -s /etc src/w/free/etc
	ln -s ../../w/secret src/w/free/secret
	begin
	policy '{"fs":{"allow_read":["/"],"deny_read":["/w/secret"],"allow_write":["/w/free"]}}'
	try read=/w/free/key list=/w/free/secret/. read=/w/free/secret/key creat=/w/free/etc/new write=/w/free/etc/passwd \
		link=/etc/passwd,/w/free/passwd read=/proc/self/cwd/secret/key read=/proc/self/root/w/secret/key \
		handle=/w/secret
	# The directory is covered, and no action uncovers the files below.
	try rename=/w/secret,/w/free/s umount=/w/secret bind=/w,/w/free mount=/w/free rmdir=/w/secret
	clean
}

# -------------------------------------------------------- system calls, processes

# namespaces: print the names of the namespaces that can be made, for every call that makes them.
namespaces() {
	local kind
	for kind in user mnt pid net ipc uts cgroup; do
		echo "unshare=$kind" "clone=$kind" "clone3=$kind"
	done
	echo unshare=time clone3=time
}

@test "system calls that reach past the sandbox are refused, and what is not on the list is not there" {
	local inside=()
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"]},"net":{"mode":"host"}}'
	strata exec --no-commit -- sh -c 'sleep 777 >/dev/null 2>&1 &'
	soon strata exec --no-commit -- pidof sleep
	pid=$(strata exec --no-commit -- pidof sleep)
	# shellcheck disable=SC2207 # words
	inside=(mount=/w bind=/,/w/free remount=/ umount=/proc pivot_root=/,/w fsopen open_tree=/ setns=/proc/self/ns/mnt chroot=/w
		$(namespaces) "ptrace=$pid" traceme "memory=$pid" "signal=$pid" "pidfd_getfd=$pid" "kcmp=$pid" keyctl add_key io_uring
		userfaultfd bpf perf swapon=/w/file reboot kexec module settime sethostname acct syslog quotactl unknown socket=40)
	[ "$(uname -m)" != x86_64 ] || inside+=(iopl x32 i386_unshare=user i386_ptrace i386_socketcall=1)
	try "${inside[@]}"
	is "$(grep -c . <<<"$output")" "${#inside[@]}"
	is "$(sed 's/.*: //' <<<"$output" | sort -u | tr '\n' ' ')" "ENOSYS EPERM "
	denied call mount
	denied call unshare
	denied call ptrace
	# A program may send signals to programs of the same command.
	confined -q -- sh -ec 'sleep 5 & kill $!; ! wait $!'
	# Without the policy, the other program can be signalled, and namespaces can be made if the
	# sandbox allows it.
	free "signal=$pid" keyctl
	policy '{"preset":"open"}'
	if strata exec --no-commit -- unshare -U -r -m true 2>/dev/null; then
		strata exec --no-commit --policy p.json -- unshare -U -r -m -p -f sh -ec 'mount -t tmpfs none /tmp; touch /tmp/x'
	fi
}

@test "abstract sockets and processes of the machine are out of reach" {
	strata doctor --json | jq -e '.checks[] | select(.name == "socket_scopes") | .ok' >/dev/null || unavailable "no scopes for sockets"
	begin
	policy '{"fs":{"allow_read":["/"]},"net":{"mode":"host"}}'
	"$TOOLS/escape-static" listen "strata-$$" >ready 3>&- &
	started=$!
	soon grep -q ready ready
	[ "$("$TOOLS/forbid-static" "abstract=strata-$$")" = "abstract=strata-$$: done" ]
	try "abstract=strata-$$" "signal=$started" "ptrace=$started"
	is "$output" "abstract=strata-$$: EPERM"$'\n'"signal=$started: $(sed -n 's/^signal.*: \(ESRCH\|EPERM\)$/\1/p' tried)"$'\n'"ptrace=$started: EPERM"
}

# --------------------------------------------------------------------- programs

@test "programs: what may not be executed cannot be, by another name neither, nor as a copy in memory" {
	local busybox=/bin/busybox
	cp "$TOOLS/forbid-static" src/w/tool
	cp "$TOOLS/forbid-static" src/w/denied
	ln -s denied src/w/link
	ln src/w/denied src/w/hard
	printf '#!/w/denied\n' >src/w/script
	printf '#!/bin/sh\necho ran\n' >src/w/shell-script
	chmod +x src/w/script src/w/shell-script
	begin
	# With a list of allowed programs, no other program can be executed, not even one that the
	# command has written.
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w","/tmp"]},"exec":{"allow":["/bin"]}}'
	try exec=/w/tool exec=/w/link exec=/w/hard exec=/w/script memfd=/w/tool memfd=$busybox map=/w/tool
	is "$(sed 's/.*: //' <<<"$output" | sort -u | tr '\n' ' ')" "EACCES EPERM "
	# Each denial is told, by the true path of the program or of the script's interpreter.
	for path in /w/tool /w/denied /w/hard /w/script; do denied execute $path; done
	is "$(jq -r 'select(.what == "call") | .name + ": " + .remedy' denials.jsonl | sort -u)" \
		"memfd_create: call it with MFD_NOEXEC_SEAL, or leave exec.allow and exec.deny empty"
	grep -F "add '/w/tool' to exec.allow" said
	rm denials.jsonl
	confined -q -- sh -c 'ls / >/dev/null; no-such-program' >/dev/null 2>&1 || true
	is "$(cat denials.jsonl)" ""
	run -126 --separate-stderr confined -q -- sh -c 'cp /bin/busybox /tmp/own && exec /tmp/own true'
	run -0 --separate-stderr confined -q -- sh -c '. /w/shell-script'
	is "$output" ran
	# With a list of denied programs, all others can be executed.  A script needs its
	# interpreter.  Another name of the same file counts as another path, as documented.
	policy '{"fs":{"allow_read":["/"],"allow_write":["/tmp"]},"exec":{"deny":["/w/denied"]}}'
	rm denials.jsonl
	try exec=/w/denied exec=/w/link exec=/w/script memfd=/w/denied map=/w/denied
	is "$(jq -r 'select(.what == "execute") | .path' denials.jsonl | sort -u)" /w/denied
	grep -F "take '/w/denied' out of exec.deny" said
	is "$(sed 's/.*: //' <<<"$output" | sort -u | tr '\n' ' ')" "EACCES EPERM "
	run -1 --separate-stderr confined -q -- forbid exec=/w/tool exec=/w/shell-script exec=/w/hard
	is "$(grep -c '^exec=.*: done$' <<<"$output")" 3
	run -1 strata exec --no-commit -- forbid exec=/w/denied memfd=/w/denied exec=/w/script
	is "$(grep -c ': done$' <<<"$output")" 3
	# The command itself may not be denied either.
	run -126 --separate-stderr confined -q -- /w/denied
}

# -------------------------------------------------------- variables, descriptors

@test "the memory files of a command are its own, and have a limit" {
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"]},"limits":{"max_rss_bytes":10000000}}'
	strata exec --no-commit -- sh -c 'echo theirs >/dev/shm/theirs; sleep 600 >/dev/null 2>&1 &'
	confined -q -- sh -c 'echo 1 >/dev/shm/mine; ls /dev/shm; sleep 600 >/dev/null 2>&1 &' >out.txt 2>/dev/null
	is "$(cat out.txt)" mine
	is "$(confined -q -- ls -A /dev/shm 2>/dev/null)" ""
	is "$(strata exec --no-commit -- ls /dev/shm)" theirs
	run ! confined -q -- dd if=/dev/zero of=/dev/shm/large bs=1M count=11
	[[ $output = *"No space left on device"* ]]
	# What the policy names is that of the sandbox.
	policy '{"fs":{"allow_read":["/"],"allow_write":["/dev/shm"]}}'
	is "$(confined -q -- ls -A /dev/shm)" theirs
}

@test "shared memory, semaphores and message queues of a command are its own" {
	local things=(shm=4711 sem=4711 msg=4711 mq=strata-test) made=(shm_new=4711 sem_new=4711 msg_new=4711 mq_new=strata-test)
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"]}}'
	# The objects are those of the sandbox, which a program keeps.
	strata exec --no-commit -- sh -c 'sleep 600 >/dev/null 2>&1 &'
	run -1 --separate-stderr strata exec --no-commit -- forbid "${made[@]}"
	is "$(grep -c ': done$' <<<"$output")" 4
	run -1 --separate-stderr strata exec --no-commit -- forbid "${things[@]}"
	is "$(grep -c ': done$' <<<"$output")" 4
	try "${things[@]}"
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" ENOENT
	# A command can make objects, which are seen by its own programs alone.
	run -1 --separate-stderr confined -q -- sh -c 'forbid shm_new=815; forbid shm=815'
	is "$output" $'shm_new=815: done\nshm=815: done'
	run -0 strata exec --no-commit -- forbid shm=815
	try shm=815
	# The objects of the machine are seen by no command.
	[ "$(strata exec --no-commit -- readlink /proc/self/ns/ipc)" != "$(readlink /proc/self/ns/ipc)" ]
	# With /dev/shm of the sandbox, the command has the sandbox's other objects, too.
	policy '{"fs":{"allow_read":["/"],"allow_write":["/dev/shm"]}}'
	run -1 --separate-stderr confined -q -- forbid shm=4711 sem=4711 msg=4711
	is "$(grep -c ': done$' <<<"$output")" 3
}

@test "a command gets the variables that the policy passes on, and no descriptor" {
	begin
	export MINE_A=1 MINE_B=2 SECRET_TOKEN=3 LANG=C.UTF-8 HOME=/outside PATH=$PATH:/outside TMPDIR=$TMPDIR
	policy '{"preset":"readonly"}'
	confined --no-commit -- env | sort >env.txt
	is "$(grep -E 'MINE|SECRET|outside|TMPDIR' env.txt)" ""
	grep -x HOME=/root env.txt
	grep -x LANG=C.UTF-8 env.txt
	policy '{"preset":"readonly","env":{"allow":["MINE_*","HOME"],"set":{"FIXED":"f","MINE_B":"5"}}}'
	confined --no-commit --env GIVEN=g --env FIXED=no -- env | sort >env.txt
	is "$(grep -E '^(MINE|SECRET|GIVEN|FIXED|LANG|HOME)' env.txt | tr '\n' ' ')" "FIXED=f GIVEN=g HOME=/root MINE_A=1 MINE_B=5 "
	fails 125 "strata: --env SECRET_TOKEN: the policy passes no such variable on
hint: '\"env\": {\"allow\": [\"SECRET_TOKEN\"]}' in the policy allows it" confined --no-commit --env SECRET_TOKEN -- true
	# ls has one descriptor for the directory.
	exec 7</etc/passwd 9</
	is "$(confined --no-commit --denials denials.jsonl -- ls /proc/self/fd 3<src/w/file | tr '\n' ' ')" "0 1 2 3 "
	exec 7<&- 9<&-
}

# ---------------------------------------------------------------------- denials

@test "denials are told of on a file, on a descriptor, at the end, and in the node" {
	begin
	confined --env X=1 -- sh -c 'mkdir .vscode; for i in 1 2 3; do echo x >/etc/new; done; echo 1 >one' 2>err.txt || true
	jq -e 'has("time") and has("what") and has("rule") and has("remedy") and has("pid") and .times >= 1' denials.jsonl >/dev/null
	is "$(jq -c '[.what, .path, .access]' denials.jsonl | sort -u)" $'["write","/etc/new","write"]\n["write","/w/.vscode","write"]'
	grep -xF "strata: denied: write /etc/new (fs.allow_write: no rule has the path), 3 times; to allow it, add '/etc/new' to fs.allow_write" err.txt
	grep -xF "strata: denied: write /w/.vscode (always protected: editor configuration, '/w/.vscode'); to allow it, name '/w/.vscode' in fs.allow_write" err.txt
	is "$(strata show --json | jq -c '.denials | map([.what, .subject, .rule, .remedy, .times])' | jq -c '.[]' | sort)" \
		'["write","/etc/new","fs.allow_write: no rule has the path","add '"'/etc/new'"' to fs.allow_write",3]
["write","/w/.vscode","always protected: editor configuration, '"'/w/.vscode'"'","name '"'/w/.vscode'"' in fs.allow_write",1]'
	strata show | grep -F 'write /etc/new (fs.allow_write: no rule has the path), 3 times'
	# Denials are appended to the file.  They can also go to a descriptor.  --json has them,
	# too.
	written=$(wc -l <denials.jsonl)
	confined -q -- sh -c '! echo x >/etc/new' 2>/dev/null
	is "$(wc -l <denials.jsonl)" "$((written + 1))"
	strata exec --policy p.json --cwd /w --denials 5 -q --json -- sh -c 'forbid creat=/etc/new; true' 5>five >result.json 2>/dev/null
	is "$(jq -c '[.what, .path]' five)" '["write","/etc/new"]'
	is "$(jq -c '.denials | map(.subject)' result.json)" '["/etc/new"]'
	fails 2 "strata: --denials goes with --policy" strata exec --denials x -- true
	fails 125 "strata: --denials: descriptor 77: Bad file descriptor" strata exec --policy p.json --denials 77 -- true
	# A place that cannot be written to is known before the command starts.
	fails 2 "strata: --denials: descriptor 6 is not open for writing" \
		strata exec --policy p.json --denials 6 -- touch /w/ran 6<p.json
	for where in no/such src p.json/x; do
		run -125 --separate-stderr strata exec --policy p.json --denials "$where" -- touch /w/ran
		[[ $stderr = "strata: --denials: "* ]]
	done
	strata exec --no-commit -- test ! -e /w/ran
}

@test "a flood of denials is summed, and what a place for them does not take is counted" {
	begin
	confined --no-commit -q -- sh -c 'for i in $(seq 2000); do mkdir /etc/n$i; done' >/dev/null 2>err.txt || true
	# Each line with a number counts all that were not listed until then.
	is "$(jq -s '([.[] | select(.what != "more").times] | add) + ([.[] | select(.what == "more").times] | max)' denials.jsonl)" 2000
	[ "$(wc -l <denials.jsonl)" -lt 1500 ]
	# Nothing is lost where the end is told, either: 20 are listed, then there are numbers.
	grep -E '^strata: [0-9]+ denials that have no room in the node$' err.txt
	# A full disk, and a reader that is gone.
	confined --no-commit --denials /dev/full -q -- sh -c 'mkdir /etc/x' 2>err.txt || true
	grep -xF 'strata: 1 denials that --denials lacks' err.txt
	strata exec --policy p.json --cwd /w --no-commit --denials 5 -q -- sh -c 'usleep 300000; mkdir /etc/x' 5> >(exit 0) 2>err.txt || true
	grep -xF 'strata: 1 denials that --denials lacks' err.txt
}

@test "a place that takes no denials is told of before the command, and the end has the number and the reason" {
	local before="no denial can be written there now"
	begin
	confined --no-commit --denials /dev/full -q -- sh -c 'echo started >&2; mkdir /etc/x /etc/y' 2>err.txt || true
	is "$(grep -E '^(strata|started)' err.txt | head -2)" "strata: --denials: $before: No space left on device; their number is told at the end"$'\n'started
	is "$(grep -A1 -F 'that --denials lacks' err.txt)" $'strata: 2 denials that --denials lacks\nstrata: reason: No space left on device'
	# The reader of the pipe ends before strata starts.
	mkfifo pipe
	exec 5<>pipe 6>pipe 5<&-
	confined --no-commit --denials 6 -q -- sh -c '! mkdir /etc/x' 2>err.txt
	exec 6>&-
	is "$(head -1 err.txt)" "strata: --denials: $before: its reader has gone; their number is told at the end"
	grep -xF 'strata: reason: its reader has gone' err.txt
	# The node has the denials, their number, and the reason.
	strata exec -q -- touch /w/before
	confined --denials /dev/full -q -- sh -c '! mkdir /etc/x && echo 1 >new' 2>err.txt
	is "$(strata show --json | jq -c '.denials | map([.what, .subject, .rule, .times])' | jq -c '.[]' | sort)" \
		'["more","denials that --denials lacks","No space left on device",1]
["write","/etc/x","fs.allow_write: no rule has the path",1]'
	# A place that takes them is not mentioned.
	confined --no-commit -q -- sh -c 'echo first >&2' 2>err.txt
	is "$(cat err.txt)" first
}

@test "a link into what may not be read hangs nothing" {
	mkdir -p src/w/secret/dir src/ro
	ln -s /w/secret src/ro/link
	ln -s /w/secret/dir/tool src/ro/tool
	begin
	policy '{"fs":{"allow_read":["/"],"deny_read":["/w/secret"],"allow_write":["/w"],"grantable":["/w/secret"]},"exec":{"deny":["/w/tool"]}}'
	timeout 20 "$STRATA" exec --policy p.json --no-commit --denials denials.jsonl -q -- forbid mkdir=/ro/link/x write=/ro/link/x \
		creat=/ro/link/dir/x unlink=/ro/link/dir rename=/ro/link/dir,/ro/link/y exec=/ro/tool exec=/ro/link/x setxattr=/ro/tool >tried
	is "$(grep -c : tried)" 8
	! grep ': done$' tried || return 1
}

@test "what is denied to a program in the background is in the next node" {
	begin
	confined -q -- sh -c '(while ! [ -e /w/go ]; do usleep 10000; done; echo x >/etc/later; echo y >/w/late) >/dev/null 2>&1 &'
	is "$(strata show --json | jq -c '.denials // []')" '[]'
	# This makes no node, since a node could come between the denial and a later write of the
	# program.
	strata exec --no-commit -- touch /w/go
	soon strata exec --no-commit -- test -e /w/late
	strata commit -m later >/dev/null
	is "$(strata show --json | jq -c '.denials | map([.subject, .times])')" '[["/etc/later",1]]'
	denied write /etc/later
	# The denial is in one node only.
	strata exec -q -- touch /w/again
	is "$(strata show --json | jq -c '.denials // []')" '[]'
}

# ------------------------------------------------------------------ bad policies

@test "a policy that is not one is refused, with the place" {
	begin
	policy '{"fs":{"allow_reed":["/"]}}'
	run -125 --separate-stderr confined -- true
	[[ $stderr == *"p.json: fs.allow_reed"*"allow_read"*"(line 1, column 8)"* ]]
	policy '{"fs":{"allow_read":["src"]}}'
	run -125 --separate-stderr confined -- true
	[[ $stderr == *"p.json: fs.allow_read[0]: 'src' is not absolute"*"column 22"* ]]
	policy '{"fs":{"allow_read":["/w"],"deny_read":["/w"]}}'
	run -125 --separate-stderr confined -- true
	[[ $stderr == *"fs.allow_read[0]: fs.deny_read has '/w', too"* ]]
	run -125 --separate-stderr strata exec --policy none.json -- true
	[[ $stderr == "strata: "*none.json* ]]
	is "$(strata log --json | jq -s 'flatten | length')" 1
}

@test "what the kernel lacks is said, and a policy that requires it does not run" {
	need_ids_traced
	begin
	lacking() { "$TOOLS/refuse" landlock_create_ruleset "$STRATA" exec --policy p.json --cwd /w "$@"; }
	run -0 --separate-stderr lacking --no-commit --json -- sh -c '! echo x >/etc/new'
	is "$(head -1 <<<"$stderr")" "strata: the kernel has no Landlock"
	is "$(jq -r .unenforced <<<"$output" | tr -d '[]" \n')" "thekernelhasnoLandlock"
	# The other layers are still enforced.
	run -0 --separate-stderr lacking --no-commit -- forbid creat=/etc/new creat=/w/.vscode/x unshare=mnt mount=/w
	is "$(sed 's/.*: //' <<<"$output" | sort -u | tr '\n' ' ')" "EPERM EROFS "
	policy '{"preset":"offline","trust":"require"}'
	fails 78 "strata: the policy cannot be enforced here: the kernel has no Landlock
hint: with \"trust\": \"auto\" the command runs without that" lacking -- touch /w/ran
	is "$(strata exec --no-commit -- ls -A /w)" $'file\nfree'
	no_stubs
	# If all layers are supported, the command runs without a message.
	if [ "$("$STRATA" doctor --json | jq '.checks[] | select(.name == "socket_scopes") | .ok')" = true ]; then
		fails 0 "" confined --no-commit -- true
	fi
	policy '{"preset":"offline","trust":"forbid"}'
	run -0 --separate-stderr confined --no-commit -- touch /etc/new
	is "$stderr" 'strata: nothing is enforced, since the policy has "trust": "forbid"'
}

@test "globs stand for what is there, and a name in known directories is kept from being made" {
	mkdir -p src/w/a src/w/b
	echo 1 >src/w/a/key
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"],"deny_read":["/w/*/key","/w/**/*.pem"],"deny_write_within_allow":["/w/?/lock"]}}'
	try read=/w/a/key write=/w/a/key rename=/w/a/key,/w/k creat=/w/b/key mkdir=/w/b/key symlink=/etc,/w/b/key creat=/w/a/lock rename=/w/file,/w/b/lock rename=/w/b,/w/c
	is "$(grep '^strata: .* now' said)" "strata: '/w/**/*.pem' matches no file now; what appears later is not covered
strata: '/w/?/lock' matches no file now; that name cannot be made in the directories there are"
	denied write /w/b/key
	is "$(strata exec --no-commit -- ls -A /w/a /w/b)" $'/w/a:\nkey\n\n/w/b:'
	clean
	confined --no-commit -- sh -ec 'echo 1 >/w/b/x.pem; mkdir /w/c; echo 1 >/w/c/key' 2>/dev/null
}

# ------------------------------------------------------------- together with more

# holds [OPTION of exec]...: with these options, the policy is enforced, and allowed actions
# succeed.
holds() {
	local forbidden=(creat=/etc/new write=/w/.git/config rename=/w/.git,/w/free/g creat=/w/.vscode/x mkdir=/w/.claude unshare=user ptrace=1)
	rm -f denials.jsonl
	confined -q "$@" -- forbid "${forbidden[@]}" >tried 2>said || { cat tried said; return 1; }
	is "$(wc -l <tried)" "${#forbidden[@]}"
	# The kernel allows a program only one listener to calls.  With --trace, the tracer has it.
	for path in /etc/new /w/.git/config /w/.git /w/.vscode/x /w/.claude; do
		[ "${1:-}" = --trace ] || denied write "$path" || return 1
	done
	confined -q "$@" -- sh -ec 'rm -f /w/free/mine; echo 1 >>/w/free/mine; cat /w/free/mine' >out.txt 2>said || { cat said; return 1; }
	no_stubs
}

@test "a policy holds with --trace, --net, --user and in a fork" {
	repositories
	chmod 777 src/w src/w/free
	echo 'agent:x:1000:1000::/w:/bin/sh' >>src/etc/passwd
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"]},"net":{"mode":"host"}}'
	holds
	holds --trace
	is "$(strata show --json | jq '.trace != null')" true
	holds --net none
	is "$(confined --no-commit --net none -- ls /sys/class/net)" lo
	if [ "$(strata exec --no-commit --user agent -- id -u 2>/dev/null)" = 1000 ]; then
		holds --user agent
	fi
	strata fork other >/dev/null
	STRATA_WORKSPACE=other holds
	is "$(STRATA_WORKSPACE=other strata status --json | jq .dirty)" 0
}

@test "a policy holds for binds, and in a shell" {
	mkdir -p host/.git/hooks host/sub src/mnt
	echo '[core]' >host/.git/config
	echo ref >host/.git/HEAD
	repositories
	begin
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w","/mnt"]}}'
	holds --bind host:/mnt
	confined -q --bind host:/mnt -- forbid write=/mnt/.git/config creat=/mnt/.git/hooks/new rename=/mnt/.git,/mnt/g creat=/mnt/.git/hooks/x >tried 2>said || { cat tried; return 1; }
	is "$(find host | sort | tr '\n' ' ')" "host host/.git host/.git/HEAD host/.git/config host/.git/hooks host/sub "
	# If the bind is the workspace, stubs are made on the host, and none of them is left there.
	before=$(stat -c %y host)
	strata exec -q --policy p.json --cwd /mnt --bind host:/mnt -- forbid mkdir=/mnt/.vscode creat=/mnt/.mcp.json >tried 2>said || { cat tried; return 1; }
	is "$(find host | sort | tr '\n' ' ')" "host host/.git host/.git/HEAD host/.git/config host/.git/hooks host/sub "
	is "$(stat -c %y host)" "$before"
	echo 'forbid creat=/etc/new creat=/w/.vscode/x; exit' | strata shell --policy p.json --cwd /w >tried 2>said || true
	is "$(grep -c ': EROFS$' tried)" 2
	grep -F 'denied: write /etc/new' said
}

@test "a policy holds on a plain tree, and on btrfs" {
	repositories
	begin --backend copy
	policy '{"fs":{"allow_read":["/"],"allow_write":["/w"]}}'
	holds
	clean
	is "$(strata exec --no-commit -- ls -A /w)" $'.git\nfile\nfree\nsub\nsub2\ntree'
	strata checkout HEAD >/dev/null
	[ "$(command id -u)" = 0 ] && command -v mkfs.btrfs >/dev/null || return 0
	truncate -s 300M disk.img
	mkfs.btrfs -q disk.img
	mkdir disk
	mount -o loop disk.img disk || unavailable "no loop devices"
	export STRATA_ROOT=$PWD/disk/env
	begin --backend btrfs
	holds
	clean
	is "$(strata exec --no-commit -- ls -A /w)" $'.git\nfile\nfree\nsub\nsub2\ntree'
}
