#!/bin/bash
# environments.sh - rows 9 to 14: programs that run in an environment.  run.sh sources this file.
#
# There are two trees: 'small' is a Debian minbase root file system, and 'large' is the same with
# BENCH_FILES small files added.  Root and an ordinary user have their own copy of each tree, on a
# file system of their own.  Programs that run in the environment make the changes.  If a function
# cannot measure something on this machine, it sets why_not to the reason.
# shellcheck disable=SC2154 # files, work and the like are those of run.sh

# shellcheck source=bench/lib.sh
. "$here/lib.sh"

small_size=1024 # average bytes of a small file
exec_runs=60
few_runs=30     # runs of a commit or checkout of few files
many_runs=10    # runs of a commit or checkout of a thousand files
back_runs=15
forks=64
fork_runs=5
nodes=50        # nodes of row 13
compile_runs=7
thousand=$((files < 1000 ? files : 1000))
user_names=([0]="root" [1]="ordinary user")
why_not=

# Users are 0 for root, and 1 for an ordinary user.  Root becomes the ordinary user with setpriv.
users=(1)
[ "$(id -u)" != 0 ] || users=(0 1)

become() { # USER
	as=()
	[ "$1" = 0 ] || [ "$(id -u)" != 0 ] ||
		as=(setpriv --reuid "$user_id" --regid "$user_id" --clear-groups --inh-caps=-all)
}

st() { "${as[@]}" strata "$@"; }
in_env() { st exec --no-commit -- "$@"; }
last_line() { awk 'NF { line = $0 } END { print line }' "$@"; }

# --- the trees and their environments

rootfs=$work/rootfs.tar # the tar file that the trees are made of

# Makes rootfs.tar in the work directory, once for all rows.  If that fails, makes rootfs.why with
# the reason.
get_rootfs() {
	local made
	if [ -e "$work/rootfs.tar" ] || [ -e "$work/rootfs.why" ]; then
		return
	fi
	progress "getting a root file system"
	if made=$(HOME=$caller_home "$here/../tools/rootfs" 2>"$work/said"); then
		basename "$made" .tar >"$work/rootfs.name"
		ln -s "$made" "$work/rootfs.tar"
	else
		last_line "$work/said" >"$work/rootfs.why"
	fi
}

# Selects the files that row 10 changes: a thousand files of the root file system, spread over
# /usr/share of DIR.
pick_files() { # DIR
	(cd "$1" && find usr/share -type f -links 1 -size -16k -printf '/%p\n') | sort >"$work/rootfs.all"
	awk -v n="$(wc -l <"$work/rootfs.all")" -v want="$thousand" \
		'int(NR * want / n) > int((NR - 1) * want / n)' "$work/rootfs.all" >"$work/rootfs.files"
}

rootfs_line() { # a line of the header of the report
	[ ! -e "$work/entries-small" ] || echo "| root file system | $(cat "$work/rootfs.name"), $(entries small) entries |"
}

make_small() { # DIR
	local devices=()
	[ ${#as[@]} = 0 ] && [ "$(id -u)" = 0 ] || devices=(--exclude "./dev/*" --no-same-owner)
	"${as[@]}" mkdir "$1"
	"${as[@]}" tar -x -C "$1" "${devices[@]}" -f - <"$rootfs"
}

make_large() { # DIR
	make_small "$1"
	quiet "${as[@]}" "$tools/mktree" make "$1/srv/files" "$files" $small_size $per_dir
}

# Prints the bytes of the contents of all files.  A file with several hard links counts once.
content_bytes() { # DIR
	find "$1" -type f -printf '%i %s\n' | sort -u | awk '{ sum += $2 } END { print sum }'
}

# Prints the disk space of DIR.  An overlay has a directory that only root can read, so errors are
# ignored.
disk_bytes() { # OPTION... DIR
	{ du -s -B1 "$@" 2>>"$log" || true; } | cut -f 1
}

# Initialises an environment from the tree.  If the environment cannot run programs, prints the
# reason.
new_environment() {
	local said=$work/said
	if ! "${as[@]}" test -x "$tools/strata"; then
		echo "this user cannot look into BENCH_DIR"
	elif ! st init --from "$tree" >"$said" 2>&1; then
		echo "strata init: $(last_line "$said")"
	else
		st head >"$tree.base"
		disk_bytes --exclude=base "$STRATA_ROOT" >"$tree.beyond"
		in_env true >"$said" 2>&1 || echo "strata exec: $(last_line "$said")"
	fi
}

# Selects the tree of SIZE of this user and its environment.  Both are made if they do not exist
# yet.
environment() { # USER small|large
	get_rootfs
	if [ -e "$work/rootfs.why" ]; then
		why_not=$(cat "$work/rootfs.why")
		return
	fi
	become "$1"
	if [ ! -d "$work/fs-env-$1" ]; then
		new_fs "env-$1" $((8 * (files * 8192 + 512 * MiB))) $((8 * files + 400000))
		[ ${#as[@]} = 0 ] || chown "$user_id:$user_id" "$fs"
	fi
	use_fs "env-$1"
	tree=$fs/$2 STRATA_ROOT=$fs/$2-env
	if [ ! -e "$tree.ready" ]; then
		progress "making the $2 tree and its environment: ${user_names[$1]}"
		"make_$2" "$tree"
		[ -e "$work/rootfs.files" ] || pick_files "$tree"
		[ -e "$work/entries-$2" ] || find "$tree" | wc -l >"$work/entries-$2"
		new_environment >"$tree.why"
		if [ ! -s "$tree.why" ]; then
			st status | sed -n 's/^workspace *[^ ]* //p' >"$tree.backend"
		fi
		touch "$tree.ready"
	fi
	why_not=$(cat "$tree.why")
}

# Sets 'able' to the users who have environments of all these sizes.  Sets 'notes' to the reasons
# why the other users have none.
find_able() { # SIZE...
	local user size
	able=() notes=()
	for user in "${users[@]}"; do
		for size; do
			environment "$user" "$size"
			[ -z "$why_not" ] || break
		done
		if [ -z "$why_not" ]; then
			able+=("$user")
		else
			notes+=("Not measured as ${user_names[$user]}: $why_not.")
		fi
	done
}

say_notes() {
	local note
	for note in "${notes[@]}"; do
		say ""
		say "$note"
	done
}

entries() { # small|large
	if [ -e "$work/entries-$1" ]; then
		cat "$work/entries-$1"
	else
		[ "$1" = small ] && echo few || echo many
	fi
}

# --- actions of programs in the environment

# Prints the paths of the COUNT files that ROUND changes.  They are spread over the small files, or
# over the root file system.
paths() { # files|rootfs COUNT ROUND
	if [ "$1" = files ]; then
		"$tools/mktree" paths /srv/files "$files" $small_size $per_dir "$2" "$3"
	else
		awk -v step=$(($(wc -l <"$work/rootfs.files") / $2)) -v round="$3" -v count="$2" \
			'NR % step == round % step && n++ < count' "$work/rootfs.files"
	fi
}

# Changes files.  Each file gets 1 KiB of its own that does not compress well.
# shellcheck disable=SC2016 # expanded inside
change() { # files|rootfs COUNT ROUND
	local noise
	noise=$(head -c 720 /dev/urandom | base64 -w 0)
	paths "$@" | in_env sh -c 'while read -r path; do echo "$0 $path" >"$path" || exit; done' "$noise"
}

sums() { paths "$@" | in_env xargs sha256sum; }

# shellcheck disable=SC2016 # expanded inside
start_sleeper() {
	local try
	sleeper=120.$BASHPID$RANDOM # it ends soon in any case
	in_env sh -c 'sleep "$0" </dev/null >/dev/null 2>&1 &' "$sleeper"
	for try in 1 2 3 4 5; do
		! sleeping || return 0
		sleep 0.1 # during its execve, a process has no arguments
	done
	fault "a process left behind by exec does not run"
}

sleeping() { grep -qszx -- "[1]${sleeper#1}" /proc/[0-9]*/cmdline; }

# --- row 9: exec

declare -A policy_net=([none]='"none"' [allowlist]='"allowlist", "allowed_domains": ["example.com"]' [home]='"none"')
declare -A policy_cwd=([none]=/srv [allowlist]=/srv [home]=/root)
declare -A policy_text=([none]="no network" [allowlist]="one name allowed" [home]="no network, the workspace is the home directory")

exec_one() { # USER small|large|bwrap|none|allowlist|home
	case $2 in
	none | allowlist | home)
		environment "$1" small
		[ -e "$work/policy-$2.json" ] ||
			echo "{\"preset\": \"workspace\", \"net\": {\"mode\": ${policy_net[$2]}}}" >"$work/policy-$2.json"
		measure "exec-$1-$2" strata exec --policy "$work/policy-$2.json" --cwd "${policy_cwd[$2]}" -- true
		;;
	bwrap)
		environment "$1" small
		measure "exec-$1-bwrap" bwrap --unshare-all --bind "$tree" / --proc /proc --dev /dev true
		;;
	*)
		environment "$1" "$2"
		measure "exec-$1-$2" strata exec -- true
		;;
	esac
}

exec_line() { # TEXT USER LABEL
	local shares=" | "
	if [ "$3" != bwrap ] && [ -e "$samples/exec-$2-bwrap" ]; then
		shares="$(as_ratio "$(ratio "$(p50 "exec-$2-$3")" "$(p50 "exec-$2-bwrap")")") |"
		shares+=" $(as_ratio "$(ratio "$(least "exec-$2-$3")" "$(least "exec-$2-bwrap")")")"
	fi
	say "| ${user_names[$2]}: $1 | $(count "exec-$2-$3") | $(as_time "$(p50 "exec-$2-$3")") |" \
		"$(as_time "$(least "exec-$2-$3")") | $(as_time "$(p50 "exec-$2-$3" $CPU)") | $shares |"
}

row_9() {
	local user size round i turn backends=""
	local -A head
	find_able small large
	for user in "${able[@]}"; do
		progress "9. exec true: ${user_names[$user]}"
		turn=(small large none allowlist home)
		environment "$user" small
		backends+=" ${user_names[$user]}: $(cat "$tree.backend")."
		if "${as[@]}" bwrap --unshare-all --bind "$tree" / --proc /proc --dev /dev true 2>"$work/said"; then
			turn+=(bwrap)
		else
			notes+=("bwrap does not work here as ${user_names[$user]}: $(last_line "$work/said")")
		fi
		for size in small large; do
			environment "$user" $size
			for round in 1 2 3; do quiet st exec -- true; done
			head[$size]=$(st head)
			[ "${head[$size]}" = "$(cat "$tree.base")" ] ||
				notes+=("${user_names[$user]}: the first runs of exec true made a node, in the environment of $(entries $size) entries.")
		done
		for ((round = 1; round <= exec_runs; round++)); do
			for ((i = 0; i < ${#turn[@]}; i++)); do
				exec_one "$user" "${turn[(i + round) % ${#turn[@]}]}"
			done
		done
		for size in small large; do
			environment "$user" $size
			[ "$(st head)" = "${head[$size]}" ] || fault "exec true made a node"
		done
		environment "$user" small
		start_sleeper
		for ((round = 1; round <= exec_runs / 2; round++)); do
			measure "exec-$user-joined" strata exec -- true
		done
		quiet st checkout HEAD # this ends the process
	done

	say "## 9. exec -- true against bubblewrap"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "With the check that nothing changed. bwrap --unshare-all --bind ROOTFS / --proc /proc --dev /dev true. 'Joined': a process runs there already, so that no namespaces are made. --policy: the preset 'workspace' with /srv as workspace.$backends"
		say ""
		say "| | runs | p50 | min | CPU p50 | ÷ bwrap, p50 | ÷ bwrap, min |"
		say "|---|---|---|---|---|---|---|"
		for user in "${able[@]}"; do
			exec_line "strata exec, $(entries small) entries" "$user" small
			exec_line "strata exec, $(entries large) entries" "$user" large
			exec_line "strata exec, joined" "$user" joined
			for size in none allowlist home; do
				exec_line "strata exec --policy, ${policy_text[$size]}" "$user" $size
			done
			[ ! -e "$samples/exec-$user-bwrap" ] || exec_line "bwrap" "$user" bwrap
		done
		targets_head
		for user in "${able[@]}"; do
			[ -e "$samples/exec-$user-bwrap" ] || continue
			for size in small large; do
				target "${user_names[$user]}: exec ÷ bwrap, $(entries $size) entries" as_ratio \
					"$(ratio "$(p50 "exec-$user-$size")" "$(p50 "exec-$user-bwrap")")" at-most 1.5
			done
		done
		for user in "${able[@]}"; do
			for size in none allowlist home; do
				target "${user_names[$user]}: exec --policy ÷ exec, ${policy_text[$size]}" as_ratio \
					"$(ratio "$(p50 "exec-$user-$size")" "$(p50 "exec-$user-small")")" at-most 2
			done
		done
	fi
	say_notes
	say ""
}

# --- row 10: commit

# A series of commits: which files change, in which tree, and in which workspace of its environment.
declare -A series_files=([spread]=files [rootfs]=rootfs [small]=rootfs)
declare -A series_tree=([spread]=large [rootfs]=large [small]=small)
declare -A series_workspace=([spread]=main [rootfs]=other [small]=main)
declare -A series_text=([spread]="small files all over the large tree"
	[rootfs]="files of /usr/share in the large tree" [small]="the same in the root file system alone")

use_series() { # USER SERIES
	environment "$1" "${series_tree[$2]}"
	export STRATA_WORKSPACE=${series_workspace[$2]}
}

commit_changed() { # USER SERIES COLUMN COUNT ROUND
	local head found
	use_series "$1" "$2"
	# earlier changes are below the live tree then
	case $3 in more*) ;; *) quiet st checkout HEAD ;; esac
	change "${series_files[$2]}" "$4" "$5"
	head=$(st head)
	measure "commit-$1-$2-$3" strata commit
	[ "$(st head)" != "$head" ] || fault "commit made no node"
	found=$(st diff HEAD~1 HEAD --name-status | grep -Ec '[[:space:]]/?(srv/files|usr/share)/') || true
	[ "$found" = "$4" ] || fault "commit of $4 changed files has $found"
}

commit_nothing() { # USER SERIES
	local head
	use_series "$1" "$2"
	head=$(st head)
	measure "commit-$1-$2-0" strata commit
	[ "$(st head)" = "$head" ] || fault "commit of nothing made a node"
}

# Turns the live trees into the base again, so that nothing is left to commit.
commit_reset() { # USER
	local name
	for name in spread rootfs small; do
		use_series "$1" $name
		quiet st checkout "$(cat "$tree.base")"
		in_env true
		quiet st commit
	done
}

commit_rounds() { # USER COLUMN COUNT ROUNDS
	local round name
	for ((round = 1; round <= $4; round++)); do
		for name in spread rootfs small; do
			if [ "$3" = 0 ]; then
				commit_nothing "$1" $name
			else
				commit_changed "$1" $name "$2" "$3" $((round + $3))
			fi
		done
		if [ "$3" = 0 ]; then
			measure "commit-$1-version" strata version
			measure "commit-$1-fsync" dd if=/dev/zero of="$fs/fsync" bs=4k count=1 conv=notrunc,fsync oflag=append
		fi
	done
}

commit_row() { # USER
	local count
	environment "$1" large
	quiet st fork other
	for count in 0 1 10; do
		progress "10. commit of $count changed files: ${user_names[$1]}"
		commit_reset "$1"
		commit_rounds "$1" $count $count $few_runs
	done
	progress "10. commit of $thousand changed files: ${user_names[$1]}"
	commit_reset "$1"
	commit_rounds "$1" 1000 "$thousand" $many_runs
	progress "10. commit when others have changed before: ${user_names[$1]}"
	commit_reset "$1"
	commit_rounds "$1" more10 10 $few_runs
	commit_rounds "$1" more1000 "$thousand" $many_runs
	commit_rounds "$1" more1 1 $many_runs
	unset STRATA_WORKSPACE
	environment "$1" large
	quiet st workspaces delete other
}

commit_line() { # USER SERIES
	local column line="| ${user_names[$1]}: ${series_text[$2]} |"
	for column in 0 1 10 1000 more10 more1000 more1; do
		line+=" $(as_time "$(p50 "commit-$1-$2-$column")") |"
	done
	say "$line"
}

commit_targets() { # USER
	local who=${user_names[$1]} column work
	work=$(calc "$(p50 "commit-$1-spread-0") - $(p50 "commit-$1-version")")
	[ "$(calc "$work > 0")" = 1 ] || work=0
	target "$who: nothing, beyond the start of strata" as_time "$work" at-most 1000
	target "$who: 1 file, p50" as_time "$(p50 "commit-$1-spread-1")" at-most 10000
	target "$who: 10 files, p50" as_time "$(p50 "commit-$1-spread-10")" at-most 10000
	target "$who: 10 files, p99" as_time "$(p99 "commit-$1-spread-10")" at-most 40000
	target "$who: $thousand files, p50" as_time "$(p50 "commit-$1-spread-1000")" at-most 150000
	for column in 0 1 10 1000; do
		target "$who: large ÷ small tree, $column files" as_ratio \
			"$(ratio "$(p50 "commit-$1-rootfs-$column")" "$(p50 "commit-$1-small-$column")")" at-most 1.5
	done
}

row_10() {
	local user name
	find_able small large
	for user in "${able[@]}"; do
		commit_row "$user"
	done

	say "## 10. Commit in an environment of $(entries large) and of $(entries small) entries, durable"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "Median of $few_runs ($many_runs for $thousand files and for the last column). A program inside has rewritten 1 KiB files, other ones each time, in a live tree that was as a node has it. In the last three columns it was not: all that these columns have changed so far, up to $((few_runs * 10)) and then $((many_runs * thousand)) files, still lies in the live tree's own layer, which a commit looks through."
		say ""
		say "| p50 | nothing | 1 file | 10 files | $thousand files | 10 more | $thousand more | 1 more |"
		say "|---|---|---|---|---|---|---|---|"
		for user in "${able[@]}"; do
			for name in spread rootfs small; do
				commit_line "$user" $name
			done
		done
		say ""
		for user in "${able[@]}"; do
			say "${user_names[$user]}: strata version takes $(as_time "$(p50 "commit-$user-version")"), dd of 4 KiB with one fsync $(as_time "$(p50 "commit-$user-fsync")")."
		done
		targets_head
		for user in "${able[@]}"; do
			commit_targets "$user"
		done
	fi
	say_notes
	say ""
}

# --- row 11: checkout

# Checks out TARGET while a process runs in the environment.  EXPECTED are the sums of the files
# after that.
back() { # LABEL TARGET EXPECTED COUNT ROUND
	start_sleeper
	measure "back-$1" strata checkout "$2"
	! sleeping || fault "checkout left a process running"
	measure "back-$1-exec" strata exec --no-commit -- true
	[ "$(sums files "$4" "$5")" = "$3" ] || fault "checkout brought back something else"
}

checkout_rounds() { # USER COLUMN COUNT ROUNDS
	local round base at_base at_first
	progress "11. checkout of $3 files: ${user_names[$1]}"
	base=$(cat "$tree.base")
	for ((round = 1; round <= $4; round++)); do
		at_base=$(sums files "$3" $round)
		change files "$3" $round
		quiet st commit
		at_first=$(sums files "$3" $round)
		change files "$3" $round
		quiet st commit
		back "$1-node-$2" HEAD~1 "$at_first" "$3" $round
		back "$1-base-$2" "$base" "$at_base" "$3" $round
	done
}

checkout_line() { # TEXT LABEL
	local column line="| $1 |"
	for column in 1 10 1000; do
		line+=" $(as_time "$(p50 "back-$2-$column")") | $(as_time "$(p50 "back-$2-$column-exec")") |"
	done
	say "$line"
}

row_11() {
	local user who to
	find_able large
	for user in "${able[@]}"; do
		environment "$user" large
		in_env true
		quiet st checkout "$(cat "$tree.base")"
		checkout_rounds "$user" 1 1 "$back_runs"
		checkout_rounds "$user" 10 10 "$back_runs"
		checkout_rounds "$user" 1000 "$thousand" "$many_runs"
	done

	say "## 11. Back again, in an environment of $(entries large) entries"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "Median of $back_runs ($many_runs for $thousand files). A process runs inside and is killed. To the node before, never visited since, in which the same files differ from the base; then to the base itself. Then: strata exec --no-commit -- true right after. The files are compared each time."
		say ""
		say "| p50 | 1 file | then | 10 files | then | $thousand files | then |"
		say "|---|---|---|---|---|---|---|"
		for user in "${able[@]}"; do
			who=${user_names[$user]}
			checkout_line "$who: to the node before" "$user-node"
			checkout_line "$who: to the base" "$user-base"
		done
		targets_head
		for user in "${able[@]}"; do
			for to in node base; do
				who="${user_names[$user]}: to the ${to/node/node before}"
				target "$who, 1 file" as_time "$(p50 "back-$user-$to-1")" at-most 20000
				target "$who, 10 files" as_time "$(p50 "back-$user-$to-10")" at-most 20000
				target "$who, $thousand files" as_time "$(p50 "back-$user-$to-1000")" at-most 200000
			done
		done
	fi
	say_notes
	say ""
}

# --- row 12: fork

used_bytes() {
	sync -f "$fs"
	if $own_fs; then
		df -B1 --output=used "$fs" | tail -1
	else
		disk_bytes "$fs"
	fi
}

# One fork writes, and no other fork may see the change.
# shellcheck disable=SC2016 # expanded inside
verify_forks() { # EXPECTED CHANGED UNCHANGED
	local i
	for ((i = 1; i <= forks; i++)); do
		[ "$(st -w "try$i" exec --no-commit -- sha256sum "$2" "$3")" = "$1" ] ||
			fault "fork try$i has something else"
	done
	st -w try1 exec --no-commit -- sh -c 'echo mine >"$0"' "$3"
	for i in 2 $forks; do
		[ "$(st -w "try$i" exec --no-commit -- sha256sum "$2" "$3")" = "$1" ] ||
			fault "fork try$i sees what try1 wrote"
	done
	[ "$(in_env sha256sum "$2" "$3")" = "$1" ] || fault "main sees what try1 wrote"
}

fork_round() { # USER ROUND
	local before live changed unchanged expected start i
	in_env true
	quiet st checkout "$(cat "$tree.base")"
	change files 10 "$2"
	quiet st commit
	changed=$(paths files 10 "$2" | tail -1)
	unchanged=$(paths files 10 $(($2 + 1)) | tail -1)
	expected=$(in_env sha256sum "$changed" "$unchanged")
	before=$(used_bytes) live=$(disk_bytes "$STRATA_ROOT/work")
	measure "fork-$1" strata fork --count "$forks" try
	echo $((($(used_bytes) - before) / forks)) >>"$samples/fork-$1-bytes"
	echo $((($(disk_bytes "$STRATA_ROOT/work") - live) / forks)) >>"$samples/fork-$1-live"
	start=${EPOCHREALTIME/./}
	verify_forks "$expected" "$changed" "$unchanged"
	echo $((${EPOCHREALTIME/./} - start)) >>"$samples/fork-$1-verify"
	for ((i = 1; i <= forks; i++)); do
		quiet st workspaces delete "try$i"
	done
}

# shellcheck disable=SC2054 # no list with commas
fork_peer() { # LABEL TYPE
	local before command=()
	progress "12. fork: $1"
	become "${users[0]}"
	if [ "$2" != ext4 ] && ! $own_fs; then
		notes+=("$1: needs root, to mount a file system of type $2.")
		return
	fi
	(new_fs copy $((3 * (files * 8192 + 512 * MiB))) $((4 * files + 100000)) "$2") 2>>"$log" || true
	use_fs copy
	if $own_fs && ! mountpoint -q "$fs"; then
		notes+=("$1: no file system of type $2 here: $(last_line "$log")")
		return
	fi
	case $1 in
	cp-a) command=(cp -a "$tree" "$fs/fork") ;;
	cp-al) command=(cp -al "$tree" "$fs/fork") ;;
	reflink) command=(cp -a --reflink=always "$tree" "$fs/fork") ;;
	snapshot) command=(btrfs subvolume snapshot "$tree/." "$fs/fork") ;;
	esac
	if [ "$1" = snapshot ]; then
		quiet btrfs subvolume create "$tree"
		make_large "$tree/tree"
	else
		make_large "$tree"
	fi
	before=$(used_bytes)
	measure "fork-$1" "${command[@]}"
	echo $(($(used_bytes) - before)) >"$samples/fork-$1-bytes"
	drop_fs copy
}

fork_line() { # TEXT LABEL COPIES COLUMN
	local all one share=""
	all=$(p50 "fork-$2" "$4")
	one=$(calc "$all / $3")
	[ "$3" != 1 ] || [ ${#able[@]} = 0 ] ||
		share=$(as_ratio "$(ratio "$one" "$(calc "$(p50 "fork-${able[0]}") / $forks")")")
	say "| $1 | $(count "fork-$2") | $(as_time "$all") | $(as_time "$one") | $(as_bytes "$(most "fork-$2-bytes" 1)") | $share |"
}

row_12() {
	local user who round peer
	local -A text=([cp-a]="cp -a, ext4" [cp-al]="cp -al (hard links), ext4" [reflink]="cp -a --reflink=always, XFS"
		[snapshot]="btrfs subvolume snapshot")
	find_able large
	for user in "${able[@]}"; do
		progress "12. fork --count $forks: ${user_names[$user]}"
		environment "$user" large
		for ((round = 1; round <= fork_runs; round++)); do
			fork_round "$user" "$round"
		done
	done
	if [ -e "$work/rootfs.tar" ]; then
		fork_peer cp-a ext4
		fork_peer cp-al ext4
		fork_peer reflink xfs
		fork_peer snapshot btrfs
	fi

	say "## 12. $forks forks of an environment of $(entries large) entries"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "Of a node in which 10 files differ from the base. In each fork a program then reads a changed and an unchanged file; one writes, and the others must not see it. Bytes: what the file system has less, a fork, the most of all runs. Peers once, of the same tree, until synced; the ratio is to ${user_names[${able[0]}]}."
		say ""
		say "| | runs | time | a fork | bytes a fork | it ÷ strata, a fork |"
		say "|---|---|---|---|---|---|"
		for user in "${able[@]}"; do
			fork_line "strata fork --count $forks, ${user_names[$user]}" "$user" $forks $WALL
		done
		for peer in cp-a cp-al reflink snapshot; do
			[ ! -e "$samples/fork-$peer" ] || fork_line "${text[$peer]}" $peer 1 $SYNCED
		done
		say ""
		for user in "${able[@]}"; do
			say "${user_names[$user]}: $(as_bytes "$(most "fork-$user-live" 1)") of the bytes a fork are its live tree, the rest is the database. The $((forks + 4)) programs that verify take $(as_time "$(p50 "fork-$user-verify")"), one after the other."
		done
		targets_head
		for user in "${able[@]}"; do
			who=${user_names[$user]}
			target "$who: $forks forks, p50" as_time "$(p50 "fork-$user")" at-most 270000
			target "$who: bytes a fork" as_bytes "$(most "fork-$user-bytes" 1)" at-most 10240
		done
	fi
	say_notes
	say ""
}

# --- row 13: growth

pack_bytes() { find "$STRATA_ROOT/packs" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }'; }
# Prints the number of pages in use, as if SQLite's log had been copied into the database.
db_bytes() {
	"${as[@]}" sqlite3 -readonly "$STRATA_ROOT/strata.db" \
		'SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size'
}

row_13() {
	local round before_packs before_db packs db wal content beyond
	find_able large
	if [ ${#able[@]} = 0 ] || ! command -v sqlite3 >/dev/null; then
		[ ${#able[@]} = 0 ] || notes+=("Not measured: no sqlite3; run tools/setup bench.")
		say "## 13. Growth of an environment"
		say_notes
		say ""
		return
	fi
	notes=()
	environment "${able[0]}" large
	progress "13. growth of $nodes nodes"
	in_env true
	quiet st checkout "$(cat "$tree.base")"
	in_env true
	quiet st commit
	before_packs=$(pack_bytes) before_db=$(db_bytes)
	for ((round = 1; round <= nodes; round++)); do
		change files 1 $((5000 + round))
		paths files 1 $((5000 + round)) | in_env xargs stat -c %s >>"$samples/growth-content"
		quiet st commit
	done
	packs=$((($(pack_bytes) - before_packs) / nodes)) db=$((($(db_bytes) - before_db) / nodes))
	content=$(awk '{ sum += $1 } END { print int(sum / NR) }' "$samples/growth-content")
	wal=$(stat -c %s "$STRATA_ROOT/strata.db-wal" 2>/dev/null || echo 0)
	beyond=$(cat "$tree.beyond")

	progress "13. init --in-place"
	STRATA_ROOT=$fs/in-place-env
	quiet st init --from "$tree" --in-place
	in_env true

	say "## 13. Growth of an environment of $(entries large) entries"
	say ""
	say "A node of 1 changed file of $(as_bytes "$content"), mean of $nodes nodes: $(as_bytes $packs) in packs, $(as_bytes $db) in the database (as if its log, which is $(as_bytes "$wal") now, had been copied into it). After init, ROOT without base takes $(as_bytes "$beyond") on disk, and the tree has $(as_bytes "$(content_bytes "$tree")") in files."
	targets_head
	target "the log of the database, kept between commands" as_bytes "$wal" at-most $((8 * MiB))
	target "a node, beyond the changed content" as_bytes $((packs + db - content)) at-most 10240
	target "init: ROOT beyond the base ÷ the tree's bytes" as_ratio \
		"$(ratio "$beyond" "$(content_bytes "$tree")")" at-most 1.1
	target "init --in-place: base (it copies nothing)" as_bytes \
		"$(disk_bytes "$STRATA_ROOT/base")" at-most 65536
	say ""
}

# --- row 14: native speed

# Installs gcc into DIR with the package lists of this machine.  Fails without a message.
install_gcc() { # DIR
	local apt=(apt-get -q -y --no-install-recommends --download-only -o "Dir::State::status=$1/var/lib/dpkg/status"
		-o "Dir::Cache::archives=$work/debs" -o Debug::NoLocking=1 install gcc libc6-dev)
	command -v apt-get >/dev/null || return 1
	mkdir -p "$work/debs/partial"
	export DEBIAN_FRONTEND=noninteractive
	if ! quiet "${apt[@]}"; then
		quiet apt-get -q -o "Dir::State::lists=$work/lists" update &&
			quiet "${apt[@]}" -o "Dir::State::lists=$work/lists" || return 1
	fi
	quiet dpkg --root="$1" -i "$work"/debs/*.deb
}

make_sources() { # DIR
	local file
	mkdir "$1"
	for ((file = 1; file <= 6; file++)); do
		awk -v file=$file 'BEGIN {
			print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <sys/stat.h>"
			for (i = 1; i <= 50; i++) {
				printf "int work_%d_%d(const char *text, int n)\n{\n", file, i
				printf "\tchar copy[64];\n\tint sum = %d;\n\tfor (int i = 0; i < n; i++)\n", i
				printf "\t\tswitch ((text[i] ^ %d) & 7) {\n", i
				for (k = 0; k < 7; k++)
					printf "\t\tcase %d: sum = sum * %d + i; break;\n", k, k + i
				printf "\t\tdefault: snprintf(copy, sizeof(copy), \"%%d\", sum); sum += strlen(copy);\n\t\t}\n"
				printf "\treturn sum;\n}\n"
			}
		}' >"$1/part$file.c"
	done
	printf '%s\n' '#include <stdio.h>' 'int work_1_1(const char *, int), work_6_50(const char *, int);' \
		'int main(void) { printf("%d\n", work_1_1("text", 4) + work_6_50("text", 4)); }' >"$1/main.c"
	cat >"$1/build" <<-'END'
		set -e
		cd /root/src
		rm -rf out
		mkdir out
		for file in *.c; do gcc -O1 -c "$file" -o "out/${file%.c}.o"; done
		gcc -o out/program out/*.o
		out/program >out/said
	END
}

# For machines where no compiler can be installed: makes work for the processor, with many small
# processes and many small files.
make_shell_work() { # DIR
	mkdir "$1"
	cat >"$1/build" <<-'END'
		set -e
		cd /root/src
		rm -rf out
		mkdir out
		cp -r /usr/share/zoneinfo out/share
		find out/share -type f | while read -r file; do sha256sum "$file"; done >out/sums
		tar -cf out/all.tar -C out share
		gzip out/all.tar
		sort out/sums | md5sum >out/said
	END
}

# Makes compile.tar in the work directory, once for all rows.
make_compile_tree() {
	local dir=$work/compile compiler=gcc
	progress "installing gcc in a root file system"
	become "${users[0]}"
	make_small "$dir"
	if [ "$(id -u)" = 0 ] && install_gcc "$dir"; then
		make_sources "$dir/root/src"
	else
		compiler=shell
		make_shell_work "$dir/root/src"
	fi
	tar -c -C "$dir" -f "$work/compile.tar" .
	rm -rf "$dir"
	echo $compiler >"$work/compile.kind"
}

# Sets rootfs to the tar file for the trees of rows 14 and 18, in which programs can be compiled.
compile_tree() {
	[ -e "$work/compile.kind" ] || make_compile_tree
	rootfs=$work/compile.tar
	compiler=$(cat "$work/compile.kind")
	[ "$compiler" = gcc ] ||
		notes+=("gcc could not be installed in the root file system, so this is shell work: a copy of /usr/share/zoneinfo, a sha256sum process for each file of it, tar, gzip.")
}

compile_text() {
	[ "${compiler:-}" = gcc ] && echo "gcc -O1 of 7 generated C files, link and run" || echo "shell work"
}

compile_one() { # USER environment|chroot
	local chroot=(chroot)
	[ "$1" = 0 ] || chroot=(unshare --user --map-root-user chroot)
	if [ "$2" = chroot ]; then
		measure "compile-$1-chroot" "${chroot[@]}" "$tree" sh /root/src/build
	else
		measure "compile-$1-environment" strata exec --no-commit -- sh /root/src/build
	fi
}

compile_rounds() { # USER
	local round i turn=(environment chroot)
	for i in 0 1; do # warm-up
		compile_one "$1" "${turn[i]}"
		rm "$samples/compile-$1-${turn[i]}"
	done
	for ((round = 1; round <= compile_runs; round++)); do
		progress "14. compile, round $round of $compile_runs: ${user_names[$1]}"
		for i in 0 1; do
			compile_one "$1" "${turn[(i + round) % 2]}"
		done
	done
	[ "$(cat "$tree/root/src/out/said")" = "$(in_env cat /root/src/out/said)" ] ||
		fault "another result inside"
}

row_14() {
	local user who label compiler work_text
	get_rootfs
	able=() notes=()
	if [ -e "$work/rootfs.why" ]; then
		notes+=("Not measured: $(cat "$work/rootfs.why").")
	else
		compile_tree
		for user in "${users[@]}"; do
			become "$user"
			new_fs "compile-$user" $((6144 * MiB)) 400000
			[ ${#as[@]} = 0 ] || chown "$user_id:$user_id" "$fs"
			make_small "$tree"
			why_not=$(new_environment)
			if [ -z "$why_not" ]; then
				able+=("$user")
				compile_rounds "$user"
			else
				notes+=("Not measured as ${user_names[$user]}: $why_not.")
			fi
			drop_fs "compile-$user"
		done
	fi

	work_text=$(compile_text)
	say "## 14. Native speed inside: $work_text"
	if [ ${#able[@]} != 0 ]; then
		say ""
		say "strata exec --no-commit against chroot into the tree the environment was made from (as an ordinary user in a user namespace), on the same file system, by turns."
		say ""
		say "| | runs | p50 | min | CPU p50 |"
		say "|---|---|---|---|---|"
		for user in "${able[@]}"; do
			for label in environment chroot; do
				say "| ${user_names[$user]}: $label | $(count "compile-$user-$label") | $(as_time "$(p50 "compile-$user-$label")") |" \
					"$(as_time "$(least "compile-$user-$label")") | $(as_time "$(p50 "compile-$user-$label" $CPU)") |"
			done
		done
		targets_head
		for user in "${able[@]}"; do
			target "${user_names[$user]}: environment ÷ chroot, p50" as_ratio \
				"$(ratio "$(p50 "compile-$user-environment")" "$(p50 "compile-$user-chroot")")" at-most 1.05
		done
	fi
	say_notes
	say ""
}
