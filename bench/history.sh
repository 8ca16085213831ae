#!/bin/bash
# history.sh - rows 1 to 8: a directory and its history.  run.sh sources this file.
# shellcheck disable=SC2154 # files, work and the like are those of run.sh

# shellcheck source=bench/lib.sh
. "$here/lib.sh"

size=10737 # average bytes of a file: 100,000 files are 1 GiB
bytes=$((files * size))
changed=10
commits=100   # commits of row 2; p99 needs this number
git_runs=30
peer_runs=5
small_runs=30

new_main_fs() { # NAME
	new_fs "$1" $((12 * bytes + files * 32768 + 1024 * MiB)) $((8 * files + 200000))
}

make_tree() { "$tools/mktree" make "$tree" "$files" $size $per_dir; }
change_files() { "$tools/mktree" change "$tree" "$files" $size $per_dir $changed "$1"; }
changed_sums() {
	"$tools/mktree" paths "$tree" "$files" $size $per_dir $changed "$1" | xargs sha256sum
}

# --- row 1: init

init_once() { # CONTENDER
	case $1 in
	strata-from) strata init --from "$tree" ;;
	strata-in-place) strata init --from "$tree" --in-place ;;
	restic) restic --no-cache -q init && restic --no-cache -q backup "$tree" ;;
	borg) borg init -e none && borg create ::first "$tree" ;;
	cp) cp -a "$tree" "$fs/copy" ;;
	esac
}
export -f init_once

init_store() { # CONTENDER
	case $1 in
	strata-*) store_size "$STRATA_ROOT" ;;
	restic) store_size "$RESTIC_REPOSITORY" ;;
	borg) store_size "$BORG_REPO" ;;
	cp) store_size "$fs/copy" ;;
	esac
}

init_row() { # TEXT CONTENDER
	local store
	store=$(cat "$samples/init-$2.store")
	say "| $1 | $(count "init-$2") | $(as_time "$(p50 "init-$2")") | $(as_time "$(p50 "init-$2" $SYNCED)") |" \
		"$(as_time "$(p50 "init-$2" $CPU)") | $(as_kib "$(most "init-$2" $RSS)") |" \
		"$(as_bytes "$store") | $(as_ratio "$(ratio "$store" "$raw")") |"
}

row_1() {
	local round who raw
	for ((round = 1; round <= runs; round++)); do
		for who in strata-from restic strata-in-place borg cp; do
			progress "1. init, round $round of $runs: $who"
			new_main_fs init
			raw=$(make_tree)
			measure "init-$who" bash -c "init_once $who"
			init_store "$who" >"$samples/init-$who.store"
		done
	done
	drop_fs init

	say "## 1. First capture: $files files, $(as_bytes "$raw")"
	say ""
	say "Median of $runs, each on a new file system with a new tree. 'Synced' is until the file system was synced after the command, and what is compared. CPU is that of the command alone."
	say ""
	say "| | runs | time | synced | CPU | peak RSS | store | store / raw |"
	say "|---|---|---|---|---|---|---|---|"
	init_row "strata init --from (store and live copy)" strata-from
	init_row "strata init --from --in-place (store only)" strata-in-place
	init_row "restic init, backup" restic
	init_row "borg init -e none, create (lz4)" borg
	init_row "cp -a" cp
	targets_head
	for who in from in-place; do
		target "init --$who ÷ restic" as_ratio \
			"$(ratio "$(p50 init-strata-$who $SYNCED)" "$(p50 init-restic $SYNCED)")" at-most 1
		target "init --$who ÷ borg" as_ratio \
			"$(ratio "$(p50 init-strata-$who $SYNCED)" "$(p50 init-borg $SYNCED)")" at-most 1
		target "init --$who ÷ cp -a" as_ratio \
			"$(ratio "$(p50 init-strata-$who $SYNCED)" "$(p50 init-cp $SYNCED)")" at-most 2
	done
	target "store ÷ unique bytes before compression" as_ratio \
		"$(ratio "$(cat "$samples/init-strata-in-place.store")" "$raw")" at-most 1.1
	say ""
}

# --- rows 2 to 5 and 8: one tree that all contenders share, except the hard links

export_git() { # each command in a row is a process of its own
	export GIT_DIR=$fs/git GIT_WORK_TREE=$tree
}

# Sets up the shared tree for all contenders, which is not timed.  The git repository would be
# packed for a real user, too.
main_tree() {
	if [ -e "$work/main.ready" ]; then
		use_fs main
		export_git
		return
	fi
	progress "setting up the tree of rows 2 to 5 and 8"
	new_main_fs main
	make_tree >"$work/main.raw"
	quiet strata init --from "$tree" --in-place
	quiet restic --no-cache -q init
	quiet restic --no-cache -q backup "$tree"
	quiet borg init -e none
	quiet borg create ::first "$tree"
	git init -q "$fs/git-init"
	mv "$fs/git-init/.git" "$fs/git"
	export_git
	quiet git -C "$tree" -c core.fsync=none -c core.bigFileThreshold=1 -c core.compression=1 add -A
	quiet git -C "$tree" -c core.fsync=none write-tree
	git config gc.auto 0
	git config core.fsync committed,loose-object
	git config core.fsyncMethod fsync
	sync -f "$fs"
	touch "$work/main.ready"
}

# shellcheck disable=SC2016 # expanded by the inner shell
commit_one() { # CONTENDER ROUND
	case $1 in
	strata) measure commit-strata strata commit -m "round $2" ;;
	walk) measure commit-walk "$tools/statwalk" "$tree" ;;
	git) measure commit-git sh -c 'cd "$tree" && git add -A && git write-tree' ;;
	restic) measure commit-restic restic --no-cache -q backup "$tree" ;;
	borg) measure commit-borg borg create "::round-$2" "$tree" ;;
	esac
}

farm_runs() {
	local round
	new_main_fs farm
	quiet make_tree
	cp -al "$tree" "$fs/farm-0"
	for ((round = 1; round <= peer_runs; round++)); do
		quiet change_files "$round"
		measure commit-farm cp -al "$tree" "$fs/farm-$round"
	done
	drop_fs farm
	use_fs main
}

row_2() {
	local round who turn i head before
	main_tree
	declare -A size_before growth
	for who in env restic borg; do
		size_before[$who]=$(store_size "$fs/$who")
	done
	: >"$samples/changed-bytes"
	head=$(strata head)
	for ((round = 1; round <= commits; round++)); do
		turn=(strata walk)
		[ "$round" -gt "$git_runs" ] || turn+=(git)
		[ "$round" -gt "$peer_runs" ] || turn+=(restic borg)
		[ $((round % 10)) != 1 ] || progress "2. commit, round $round of $commits: ${turn[*]}"
		change_files "$round" >>"$samples/changed-bytes"
		for ((i = 0; i < ${#turn[@]}; i++)); do
			commit_one "${turn[(i + round) % ${#turn[@]}]}" "$round"
		done
		before=$head
		head=$(strata head)
		[ "$head" != "$before" ] || fault "commit made no node"
		if [ "$round" = "$peer_runs" ]; then
			for who in env restic borg; do
				growth[$who]=$((($(store_size "$fs/$who") - size_before[$who]) / round))
			done
			growth[raw]=$(awk -v n="$round" '{ sum += $1 } END { print int(sum / n) }' "$samples/changed-bytes")
		fi
	done
	progress "2. commit: hard-link farm"
	farm_runs
	for who in env restic borg raw; do
		echo "${growth[$who]}" >"$samples/growth-$who"
	done

	say "## 2. Commit of $changed changed files in $files, durable"
	say ""
	say "The live tree is a plain directory, so that a commit has to look at all of it; the stat walk (getdents and statx, one thread a core) is the least that takes. git: loose objects with fsync, all that was there before packed. Hard links: until synced."
	contenders_head
	contender "strata commit" commit-strata commit-strata
	contender "stat walk" commit-walk commit-strata
	contender "git add -A, write-tree" commit-git commit-strata
	contender "restic backup" commit-restic commit-strata
	contender "borg create" commit-borg commit-strata
	contender "cp -al, sync" commit-farm commit-strata $SYNCED
	targets_head
	target "p50: 2 stat walks + 10 ms" as_time "$(p50 commit-strata)" at-most "$(calc "2 * $(p50 commit-walk) + 10000")"
	target "p50 (DESIGN 10)" as_time "$(p50 commit-strata)" at-most 10000
	target "p99 (DESIGN 10)" as_time "$(p99 commit-strata)" at-most 40000
	faster_target "git" commit-git commit-strata
	faster_target "restic" commit-restic commit-strata
	faster_target "borg" commit-borg commit-strata
	faster_target "hard links" commit-farm commit-strata $SYNCED
	say ""
}

row_3() {
	local round before
	main_tree
	progress "3. commit of nothing"
	quiet strata commit
	before=$(strata head)
	for ((round = 1; round <= small_runs; round++)); do
		measure nothing-strata strata commit
		measure nothing-walk "$tools/statwalk" "$tree"
	done
	[ "$(strata head)" = "$before" ] || fault "commit of nothing made a node"

	say "## 3. Commit when nothing changed in $files"
	contenders_head
	contender "strata commit" nothing-strata nothing-strata
	contender "stat walk" nothing-walk nothing-strata
	targets_head
	target "p50: 2 stat walks + 10 ms" as_time "$(p50 nothing-strata)" at-most "$(calc "2 * $(p50 nothing-walk) + 10000")"
	target "p50 (DESIGN 10)" as_time "$(p50 nothing-strata)" at-most 1000
	say ""
}

# shellcheck disable=SC2016 # expanded by the inner shell
row_4() {
	local round old sums
	main_tree
	quiet strata commit
	progress "4. checkout of $changed files"
	for ((round = 1001; round <= 1000 + small_runs; round++)); do
		sums=$(changed_sums $round)
		quiet change_files $round
		quiet strata commit
		measure checkout-strata strata checkout HEAD~1
		[ "$sums" = "$(changed_sums $round)" ] || fault "checkout brought back something else"

		git -C "$tree" add -A
		old=$(git -C "$tree" write-tree)
		quiet change_files $round
		git -C "$tree" add -A
		measure checkout-git git -C "$tree" read-tree -u --reset "$old"
		[ "$sums" = "$(changed_sums $round)" ] || fault "git brought back something else"
		quiet strata commit # commits the new mtimes
	done
	progress "4. checkout: restic and borg restore the whole"
	new_main_fs restore
	export RESTIC_REPOSITORY=$work/fs-main/restic BORG_REPO=$work/fs-main/borg BORG_BASE_DIR=$work/fs-main/borg-home
	measure checkout-restic restic --no-cache -q restore latest --target "$fs/restic"
	new_main_fs restore
	export RESTIC_REPOSITORY=$work/fs-main/restic BORG_REPO=$work/fs-main/borg BORG_BASE_DIR=$work/fs-main/borg-home
	measure checkout-borg sh -c 'cd "$fs" && borg extract ::first'
	drop_fs restore
	use_fs main

	say "## 4. Back to the node before: $changed files of $files"
	say ""
	say "strata keeps what is uncaptured first, so it looks at the whole tree. git does not sync the files it writes. restic and borg restore the whole tree to an empty file system, once."
	contenders_head
	contender "strata checkout HEAD~1" checkout-strata checkout-strata
	contender "git read-tree -u --reset" checkout-git checkout-strata
	contender "restic restore" checkout-restic checkout-strata
	contender "borg extract" checkout-borg checkout-strata
	targets_head
	target "p50 (DESIGN 10)" as_time "$(p50 checkout-strata)" at-most 20000
	faster_target "git" checkout-git checkout-strata
	faster_target "restic" checkout-restic checkout-strata
	faster_target "borg" checkout-borg checkout-strata
	say ""
}

row_5() {
	local round label
	local -A commands=([version]="version" [head]="head" [show]="show HEAD" [log]="log -n 20"
		[diff]="diff HEAD~1 HEAD" [status]="status")
	main_tree
	progress "5. reading commands"
	quiet strata commit
	quiet change_files 2001
	quiet strata commit
	for ((round = 1; round <= small_runs; round++)); do
		for label in "${!commands[@]}"; do
			# shellcheck disable=SC2086 # words on purpose
			measure "read-$label" strata ${commands[$label]}
		done
	done

	say "## 5. Reading, $files files, $(strata log --jsonl | wc -l) nodes"
	say ""
	say "| | runs | p50 | p99 | peak RSS |"
	say "|---|---|---|---|---|"
	for label in version head show log diff status; do
		say "| strata ${commands[$label]} | $(count "read-$label") | $(as_time "$(p50 "read-$label")") |" \
			"$(as_time "$(p99 "read-$label")") | $(as_kib "$(most "read-$label" $RSS)") |"
	done
	say ""
	say "status looks at the whole live tree."
	say ""
}

# --- row 6: a tree of many files

many_line() { # TEXT LABEL
	say "| $1 | $(count "$2") | $(as_time "$(p50 "$2")") | $(as_time "$(p50 "$2" $CPU)") | $(as_kib "$(most "$2" $RSS)") |"
}

row_6() {
	local round raw largest=0 label rss
	if [ "$many" = 0 ]; then
		say "## 6. Many files: left out (BENCH_MANY=0)"
		say ""
		return
	fi
	progress "6. making $many files"
	new_fs many $((many * 8192 + 2048 * MiB)) $((many * 2 + 100000))
	raw=$("$tools/mktree" make "$tree" "$many" 64 $per_dir)
	progress "6. init of $many files"
	measure many-init strata init --from "$tree" --in-place
	measure many-walk "$tools/statwalk" "$tree"
	for ((round = 1; round <= 5; round++)); do
		progress "6. one change in $many files, round $round of 5"
		quiet "$tools/mktree" change "$tree" "$many" 64 $per_dir 1 "$round"
		measure many-commit strata commit
		measure many-nothing strata commit
		measure many-walk "$tools/statwalk" "$tree"
		measure many-status strata status
	done
	for ((round = 1; round <= small_runs; round++)); do
		measure many-diff strata diff HEAD~1 HEAD
	done
	measure many-checkout strata checkout HEAD~1
	progress "6. fsck of $many files"
	measure many-fsck strata fsck

	say "## 6. $many files, $(as_bytes "$raw")"
	say ""
	say "| | runs | p50 | CPU p50 | peak RSS |"
	say "|---|---|---|---|---|"
	many_line "strata init --from --in-place" many-init
	many_line "strata commit, 1 file changed" many-commit
	many_line "strata commit, nothing changed" many-nothing
	many_line "strata status" many-status
	many_line "strata diff HEAD~1 HEAD" many-diff
	many_line "strata checkout HEAD~1" many-checkout
	many_line "strata fsck" many-fsck
	many_line "stat walk" many-walk
	say ""
	say "Store: $(as_bytes "$(store_size "$STRATA_ROOT")") after 6 nodes."
	targets_head
	target "diff of two adjacent nodes" as_time "$(p50 many-diff)" at-most 20000
	target "commit of 1 change: 2 stat walks + 10 ms" as_time "$(p50 many-commit)" at-most "$(calc "2 * $(p50 many-walk) + 10000")"
	target "peak RSS of init" as_kib "$(most many-init $RSS)" at-most 65536
	target "peak RSS of commit" as_kib "$(most many-commit $RSS)" at-most 65536
	for label in init commit nothing status diff checkout fsck; do
		rss=$(most many-$label $RSS)
		[ "$rss" -le "$largest" ] || largest=$rss
	done
	target "peak RSS of any command here" as_kib "$largest" at-most 65536
	say ""
	drop_fs many
}

# --- row 7: growth

# Commits, and prints by how much the store has grown.
grow() {
	local before
	before=$(store_size "$STRATA_ROOT")
	quiet strata commit
	echo $(($(store_size "$STRATA_ROOT") - before))
}

row_7() {
	local round n content what text
	declare -A grown
	progress "7. growth: a directory of $files entries, a file of $(as_bytes "$bytes")"
	new_main_fs growth
	tree=$fs/wide STRATA_ROOT=$fs/wide-env
	quiet "$tools/mktree" make "$tree" "$files" 100 "$files"
	quiet strata init --from "$tree" --in-place
	: >"$samples/grow-wide"
	for ((round = 1; round <= 5; round++)); do
		content=$("$tools/mktree" change "$tree" "$files" 100 "$files" 1 "$round")
		n=$(grow)
		echo $((n - content)) >>"$samples/grow-wide"
	done

	tree=$fs/big STRATA_ROOT=$fs/big-env
	mkdir "$tree"
	"$tools/mktree" file "$tree/file" "$bytes"
	quiet strata init --from "$tree" --in-place
	mv "$tree/file" "$tree/moved"
	grown[mv]=$(grow)
	touch "$tree/moved"
	grown[touch]=$(grow)
	chmod 600 "$tree/moved"
	grown[chmod]=$(grow)
	printf x >>"$tree/moved"
	grown[append]=$(grow)
	drop_fs growth

	say "## 7. Growth of the store"
	say ""
	say "Bytes a commit adds to all of the environment but the live tree. One change in the wide directory: median of 5, without the content."
	targets_head
	target "1 file changed in a directory of $files" as_bytes "$(p50 grow-wide)" at-most 65536
	for what in mv touch chmod; do
		target "$what of a file of $(as_bytes "$bytes"): no content" as_bytes "${grown[$what]}" at-most 65536
	done
	target "1 byte appended to it: a few chunks" as_bytes "${grown[append]}" at-most $((8 * MiB))
	say ""
	if [ -e "$samples/growth-env" ]; then
		content=$(cat "$samples/growth-raw")
		say "$changed changed files of row 2, $(as_bytes "$content") of random content, a node (mean of $peer_runs):"
		say ""
		say "| | added | beyond the content |"
		say "|---|---|---|"
		for what in env:strata restic:restic borg:borg; do
			text=${what#*:}
			n=$(cat "$samples/growth-${what%:*}")
			say "| $text | $(as_bytes "$n") | $(as_bytes $((n - content))) |"
		done
		say ""
	fi
}

# --- row 8: fsck

row_8() {
	local round
	main_tree
	for ((round = 1; round <= runs; round++)); do
		progress "8. fsck, round $round of $runs"
		measure fsck-strata strata fsck
		[ "$round" = 1 ] || continue
		measure fsck-restic restic --no-cache -q check --read-data
		measure fsck-borg borg check --verify-data
	done

	say "## 8. Proving the whole store, $(as_bytes "$(store_size "$STRATA_ROOT")")"
	say ""
	say "The peers once."
	contenders_head
	contender "strata fsck" fsck-strata fsck-strata
	contender "restic check --read-data" fsck-restic fsck-strata
	contender "borg check --verify-data" fsck-borg fsck-strata
	say ""
}

