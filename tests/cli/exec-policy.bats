# exec --policy: what a policy says of files, programs and system calls, tried by a static program with
# raw system calls.  What the policy forbids must be possible without it, else a test would prove nothing.
# shellcheck disable=SC2016 # for jq, the policies and the shell inside
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
	strata_teardown
}

# policy JSON
policy() { printf '%s\n' "$1" >p.json; }

# confined [OPTION]... -- COMMAND...: under p.json, with /w as the workspace; denials go to denials.jsonl.
confined() { strata exec --policy p.json --denials denials.jsonl --cwd /w "$@"; }
# try THING...: what forbid says of them under the policy.  Nothing must be done.
try() {
	local status=0
	confined -q -- forbid "$@" >tried 2>said || status=$?
	cat tried
	[ $status = 0 ] || { cat said; return 1; }
}
# free THING...: all of them are done without the policy.
free() {
	local status=0
	strata exec --no-commit --cwd /w -- forbid "$@" >tried 2>said || status=$?
	! grep -v ': done$' tried || { cat said; return 1; }
	strata checkout HEAD --force >/dev/null 2>&1 || strata checkout HEAD >/dev/null
}

# denied WHAT PATH: there is a denial of it in denials.jsonl, with its rule and what would allow it.
denied() {
	jq -es --arg what "$1" --arg path "$2" \
		'map(select(.what == $what and (.path // .name) == $path and .rule != "" and .remedy != "")) | length > 0' \
		denials.jsonl >/dev/null || { echo "no denial: $1 $2"; cat denials.jsonl; return 1; }
}
# no_stubs: in the live tree there is none of the names that were kept from being made.
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

# What git makes, without git: a repository with a submodule and a worktree, and one in a subdirectory.
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
		things+=("write=$git/config" "creat=$git/config" "truncate=$git/config" "chmod=$git/config"
			"setxattr=$git/config" "unlink=$git/config" "rename=$git/config,$git/c" "rename=/w/file,$git/config"
			"exchange=/w/file,$git/config" "link=$git/config,/w/free/c"
			"write=$git/hooks/pre-commit" "creat=$git/hooks/new" "mkdir=$git/hooks/new" "symlink=/w/file,$git/hooks/new"
			"link=/w/file,$git/hooks/new" "rename=/w/file,$git/hooks/new" "link=$git/hooks/pre-commit,/w/free/h"
			"unlink=$git/hooks/pre-commit" "rename=$git/hooks,$git/h" "exchange=/w/free,$git/hooks" "mkfifo=$git/hooks/new")
	done
	for file in /w/sub/.git /w/tree/.git /w/.git/worktrees/tree/commondir /w/.git/worktrees/tree/gitdir; do
		things+=("write=$file" "creat=$file" "unlink=$file" "rename=$file,/w/free/f" "exchange=/w/file,$file" "link=$file,/w/free/f")
	done
	run -0 try "${things[@]}"
	is "$(wc -l <<<"$output")" "${#things[@]}"
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" $'EBUSY\nEROFS\nEXDEV'
	clean
	denied write /w/.git/config
	denied write /w/.git/modules/sub/hooks/new
	denied write /w/sub2/deep/.git/hooks
	denied write /w/tree/.git
	# What else git does goes on.
	confined -q -- sh -ec 'echo x >/w/.git/refs/heads/main; echo y >/w/.git/index; mv /w/.git/index /w/.git/index2; mkdir /w/.git/refs/hooks; echo z >/w/sub2/deep/.git/index'
	strata checkout HEAD >/dev/null
	# And all of it is possible without a policy.
	for thing in "write=/w/.git/config" "link=/w/.git/config,/w/free/c" "rename=/w/file,/w/.git/config" "unlink=/w/tree/.git"; do
		free "$thing"
	done
}

@test "neither a repository nor a directory above it can be renamed away or replaced" {
	local dir things=()
	repositories
	# In an overlay it would fail anyway.
	begin --backend copy
	for dir in /w/.git /w/sub2 /w/sub2/deep /w/sub2/deep/.git /w/sub /w/.git/modules /w/.git/modules/sub /w/tree; do
		things+=("rename=$dir,/w/free/away" "exchange=$dir,/w/free" "rmdir=$dir")
	done
	run -0 try "${things[@]}" "rename=/w,/tmp/w"
	is "$(wc -l <<<"$output")" "$((${#things[@]} + 1))"
	is "$(sed 's/.*: //' <<<"$output" | sort -u)" $'EBUSY\nEXDEV'
	clean
	for dir in /w /w/.git /w/sub2 /w/sub2/deep /w/sub2/deep/.git /w/sub /w/.git/modules /w/.git/modules/sub /w/tree; do denied write "$dir"; done
	# The denial names what is in the way.
	is "$(jq -r 'select(.path == "/w/sub2/deep") | .rule' denials.jsonl)" "always protected: git hooks, '/w/sub2/deep/.git/hooks'"
	# Other directories can be renamed, also next to those.
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
	before=$(strata exec --no-commit -- stat -c '%y %s %a %u' /w /root)
	run -0 try mkdir=/w/.vscode creat=/w/.mcp.json symlink=/tmp,/w/.claude mkfifo=/w/.idea link=/w/file,/w/.codex \
		rename=/w/free,/w/.vscode mkdir=/w/.git mkdir=/w/.git/hooks rename=/w/free,/w/.git symlink=/tmp,/w/.git \
		creat=/w/.git/config creat=/root/.bashrc creat=/root/.config/git/config creat=/w/.vscode/x
	is "$(wc -l <<<"$output")" 14
	for path in /w/.vscode /w/.mcp.json /w/.claude /w/.idea /w/.codex /w/.git /w/.vscode/x; do denied write "$path"; done
	is "$(strata exec --no-commit -- ls -A /w)" $'file\nfree'
	is "$(strata exec --no-commit -- stat -c '%y %s %a %u' /w /root)" "$before"
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
	# The first one is as protected as before.
	strata exec --no-commit -- test -d /w/.vscode
	# It is the other way round now: the one that made the names ends first.
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

# wardens MARK: the processes that keep commands with this argument under their policies
wardens() {
	local file
	while read -r file; do
		[ "$(cat "${file%/cmdline}/comm" 2>/dev/null)" != strata-warden ] || echo "${file//[!0-9]/}"
	done < <(grep -alsF -e "$1" /proc/[0-9]*/cmdline)
}
has_wardens() { [ -n "$(wardens "$1")" ]; }
no_wardens() { ! has_wardens "$1"; }
running() { strata ps --json | jq -e --arg mark "$1" 'any(.processes[].argv[]?; . == $mark)' >/dev/null; }

@test "after a kill -9 of strata, of the warden or of the holder nothing is left of such names" {
	local mark=1234$$
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
		# No node has them, at once.
		is "$(strata commit -m "$whom" --json | jq .made)" false
		[ $whom != warden ] || strata checkout HEAD >/dev/null
		wait $started 2>/dev/null || true
		# A later command, and its end, clean up.
		confined -q -- true
		is "$(strata exec --no-commit -- ls -A /w)" $'file\nfree'
		no_stubs
		clean
	done
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
	! running $mark
	# The pipe ends when the command has, whatever it leaves behind.
	timeout 20 sh -c '"$STRATA" exec -q --policy p.json -- sh -c "sleep '$mark' >/dev/null 2>&1 </dev/null &" | cat' || return 1
	running $mark
	# That is still explained, and can go on.
	has_wardens $mark
	strata checkout HEAD >/dev/null
	soon no_wardens $mark
}
