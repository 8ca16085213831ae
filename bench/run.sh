#!/bin/bash
# run.sh BUILD - measure BUILD/strata, and write bench/RESULTS.md.
#
# rows 1 to 8    against git, restic, borg, cp and a bare walk of the tree (history.sh)
# rows 9 to 14   against bubblewrap, copies, hard links, reflinks, btrfs snapshots and a
#                plain chroot (environments.sh)
# rows 15, 16    a workspace with an owner, and a tournament (owners.sh)
# row 17         tracing, against strace and reprozip (tracing.sh)
# row 18         moving in a history far from the base (layers.sh)
# row 19         the time for which gc delays other commands (upkeep.sh)
# row 20         the speed of a worker (worker.sh)
# row 21         questions about snapshots, against walks in Python and ripgrep (query.sh)
#
#   BENCH_FILES  files of the main tree, 10.5 KiB each on average; in rows 9 to
#                14, 1 KiB each, besides a root file system (100000); row 17 has
#                no more than 20000
#   BENCH_MANY   tiny files of the tree of row 6, 0 to leave it out (1000000)
#   BENCH_RUNS   runs of each long measurement of rows 1 to 8 (3)
#   BENCH_VISITS nodes of the history of row 18, each of which is visited (1000)
#   BENCH_NODES  nodes of the history of row 21 (10000)
#   BENCH_ROWS   rows to measure, of "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"
#   BENCH_DIR    directory for the file systems (${TMPDIR:-/tmp})
#   BENCH_OUT    file for the tables (RESULTS.md beside this script)
#   STRATA_TEST_CACHE  directory of the root file system, see tools/rootfs
#
# Everything runs on new ext4 file systems in sparse images if root measures, and otherwise in a
# plain directory.  ext4 searches past inodes that were deleted in the last minutes, so each
# contender that makes many files gets a file system of its own.  Contenders take turns.  The file
# system is synced before each measurement, and the caches are warm.  A missed target is reported
# and is no failure.  A row that could not be measured is a failure, unless this machine lacks
# something that the row needs; the reason is then reported.  The default takes about 45 minutes, 10
# GB of disk and 6 GB of memory.  BENCH_FILES=2000 BENCH_MANY=0 takes nine minutes.
set -euo pipefail

[ $# = 1 ] || { echo "usage: bench/run.sh BUILD" >&2; exit 2; }
build=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
[ -x "$build/strata" ] || { echo "bench: no $build/strata; run make" >&2; exit 1; }

files=${BENCH_FILES:-100000}
many=${BENCH_MANY:-1000000}
runs=${BENCH_RUNS:-3}
visits=${BENCH_VISITS:-1000}
rows=${BENCH_ROWS:-1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21}
out=$(realpath -m "${BENCH_OUT:-$here/RESULTS.md}")
for number in "$files" "$many" "$runs" "$visits"; do
	[[ $number =~ ^[0-9]{1,9}$ ]] || { echo "bench: '$number' is not a number of files or runs" >&2; exit 2; }
done
if [ "$files" -lt 100 ] || [ "$runs" -lt 1 ] || [ "$visits" -lt 10 ] || [ "$visits" -gt 4000 ]; then
	echo "bench: at least 100 files and 1 run, and 10 to 4000 visits" >&2
	exit 2
fi
histories=false environments=false tracing=false worker=false
for row in $rows; do
	case $row in
	[1-8]) histories=true ;;
	9 | 1[0-6] | 18 | 19) environments=true ;;
	17) tracing=true ;;
	20 | 21) worker=true ;;
	*) echo "bench: no row '$row'" >&2; exit 2 ;;
	esac
done

umask 022
work=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/strata-bench.XXXXXX")
work=$(realpath "$work")
samples=$work/samples report=$work/report log=$work/log tools=$work/tools
mkdir "$samples" "$tools" "$work/home"
touch "$report" "$log"
chmod 711 "$work" # the ordinary user needs access
# Another build may replace the files while this script runs.
cp "$build/strata" "$build/strata-agent" "$tools"
row_pid= # leader of the process group that measures

cleanup() {
	local mounted
	cd /
	if [ -n "$row_pid" ]; then
		kill -TERM -- "-$row_pid" 2>/dev/null || true
		wait "$row_pid" 2>/dev/null || true
	fi
	for mounted in "$work"/fs-*; do
		if mountpoint -q "$mounted" 2>/dev/null; then
			umount "$mounted" 2>/dev/null || umount -l "$mounted" || true
		fi
	done
	chmod -R u+rwX "$work" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The environment of the caller must have no influence.
caller_home=${HOME:-} # needed only for the directory of tools/rootfs
# The caller's PATH would change the times: each directory in it may cost a traced program a call.
PATH=$tools:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME=$work/home LC_ALL=C TZ=UTC
unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME STRATA_WORKSPACE STRATA_ROOT
export GIT_CONFIG_NOSYSTEM=1 RESTIC_PASSWORD=bench
export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_RELOCATED_REPO_ACCESS_IS_OK=yes
for variable in ${!GIT_*}; do
	[ "$variable" = GIT_CONFIG_NOSYSTEM ] || unset "$variable"
done

# shellcheck source=bench/history.sh
. "$here/history.sh"
# shellcheck source=bench/owners.sh
. "$here/owners.sh"
# shellcheck source=bench/tracing.sh
. "$here/tracing.sh"
# shellcheck source=bench/layers.sh
. "$here/layers.sh"
# shellcheck source=bench/upkeep.sh
. "$here/upkeep.sh"
# shellcheck source=bench/worker.sh
. "$here/worker.sh"
# shellcheck source=bench/query.sh
. "$here/query.sh"

# --- all of it

peers() {
	local version list
	list=$(cp --version | sed -n '1s/.*) /coreutils /p')
	if $histories; then
		list+=", $(git --version | sed 's/ version//'), $(restic version | cut -d ' ' -f 1,2), $(borg --version)"
	fi
	if $environments; then
		for version in "bwrap --version" "btrfs --version" "mkfs.xfs -V"; do
			# shellcheck disable=SC2086 # words on purpose
			list+=$($version 2>/dev/null | sed -n '1s/ version//; 1s/^/, /p') || true
		done
	fi
	if $tracing; then
		for version in "strace --version" "reprozip --version" "gcc --version"; do
			# shellcheck disable=SC2086 # words on purpose
			list+=$($version 2>/dev/null | sed -n '1s/ -- version\| version//; 1s/^/, /p') || true
		done
		$histories || list+=", $(git --version | sed 's/ version//')"
	fi
	if $worker; then
		list+=", $(rg --version | sed -n '1p')"
	fi
	echo "$list"
}

header() {
	local cpu
	cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)
	cat <<-END
		# Measurements

		Written by \`make bench\`; read bench/run.sh for how. Only the ratios of one run mean something elsewhere.

		| | |
		|---|---|
		| date | $(date -u +'%Y-%m-%d %H:%M UTC'), took $((SECONDS / 60)) min $((SECONDS % 60)) s |
		| machine | $(nproc) cores, ${cpu:-$(uname -m)}, $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo) memory |
		| load before | $load_before |
		| kernel | $(uname -sr) |
		| file system | $where |
		| strata | $(strata version | head -1) |
		| peers | $(peers) |
		| sizes | BENCH_FILES=$files BENCH_MANY=$many BENCH_RUNS=$runs BENCH_VISITS=$visits |
	END
	rootfs_line
	echo
}

need() { # prints the most bytes that are on disk at one time, roughly
	local main=0 large=0 most=0 bytes
	if $histories; then
		main=$((8 * size * files + files * 8192)) large=$((many * 8192))
	fi
	if $environments; then
		most=$((10 * (files * 6144 + 256 * MiB)))
	fi
	if $worker; then
		large=$((large > files * 12288 ? large : files * 12288))
	fi
	for bytes in $main $large; do
		[ "$bytes" -le "$most" ] || most=$bytes
	done
	echo $((most + 512 * MiB))
}
room=$(df -B1 --output=avail "$work" | tail -1)
if [ "$room" -lt "$(need)" ]; then
	echo "bench: $work has $(as_bytes "$room") free, this needs $(as_bytes "$(need)"); set BENCH_DIR or smaller sizes" >&2
	exit 1
fi
for peer in git restic borg; do
	! $histories || command -v $peer >/dev/null || { echo "bench: no $peer; run tools/setup bench" >&2; exit 1; }
done
load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)
for helper in meter statwalk mktree mksource callworker; do
	"${CC:-gcc}" -O2 -std=gnu17 -D_GNU_SOURCE -Wall -pthread -o "$tools/$helper" "$here/$helper.c" -lm
done
try_own_fs

failed=0
for row in $rows; do
	# Run the row in the background, in a group of its own, so that a signal ends all of its
	# processes at once.  Do not run it as a condition, since 'set -e' would have no effect in
	# it.
	set -m
	( "row_$row" ) </dev/null &
	row_pid=$!
	set +m
	status=0
	wait "$row_pid" || status=$?
	row_pid=
	if [ $status != 0 ]; then
		failed=$((failed + 1))
		echo "bench: row $row failed; the end of its log:" >&2
		tail -n 15 "$log" >&2
		say "## $row. Could not be measured"
		say ""
	fi
done

{ header; cat "$report"; } >"$work/results"
cp "$work/results" "$out"
progress "wrote $out"
[ $failed = 0 ]
