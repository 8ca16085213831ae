#!/bin/bash
# lib.sh - file systems to measure on, samples, and the report.  The files with the rows source this
# file.
# shellcheck disable=SC2034,SC2154 # to them; work and the like are those of run.sh

MiB=1048576
per_dir=10    # files in each directory of the trees that are made
user_id=65534 # the ordinary user of rows 9 to 14
fs=           # the mounted file system that a row measures on

quiet() { "$@" >>"$log" 2>&1; }
fault() { # MESSAGE
	echo "bench: $1" | tee -a "$log" >&2
	return 1
}
progress() { printf '[%4d s] %s\n' "$SECONDS" "$*" >&2; }

# --- file systems

# Makes an empty file system with room for BYTES and, if it is ext4, for INODES.  A file system of
# this name is removed first.  Sets fs, and the variables of the other tools, to the new one.
new_fs() { # NAME BYTES INODES [TYPE]
	drop_fs "$1"
	fs=$work/fs-$1
	mkdir "$fs"
	if $own_fs; then
		truncate -s "$2" "$fs.img"
		case ${4:-ext4} in
		ext4) quiet mkfs.ext4 -q -F -m 0 -N "$3" -E lazy_itable_init=0,lazy_journal_init=0 "$fs.img" ;;
		*) quiet "mkfs.$4" -q "$fs.img" ;;
		esac
		mount -o loop "$fs.img" "$fs"
	fi
	use_fs "$1"
}

use_fs() { # NAME
	fs=$work/fs-$1
	tree=$fs/tree
	export STRATA_ROOT=$fs/env RESTIC_REPOSITORY=$fs/restic BORG_REPO=$fs/borg BORG_BASE_DIR=$fs/borg-home
	export fs tree
}

drop_fs() { # NAME
	local try
	# a process that has just ended may keep it busy a moment longer
	for ((try = 1; try <= 50; try++)); do
		mountpoint -q "$work/fs-$1" 2>/dev/null || break
		umount "$work/fs-$1" 2>>"$log" || sleep 0.1
	done
	! mountpoint -q "$work/fs-$1" 2>/dev/null || umount -l "$work/fs-$1"
	rm -rf "$work/fs-$1" "$work/fs-$1.img"
}

try_own_fs() {
	own_fs=true
	if [ "$(id -u)" = 0 ]; then
		(new_fs probe $((64 * MiB)) 1000) 2>>"$log" || true
	fi
	if mountpoint -q "$work/fs-probe" 2>/dev/null; then
		where="ext4 of its own for each contender (loop image in $(df --output=fstype "$work" | tail -1))"
	else
		own_fs=false
		where="**a plain directory on $(df --output=fstype "$work" | tail -1)**, since this user cannot mount: creating many files may look slower than it is"
	fi
	drop_fs probe
}

# Prints the bytes of a store.  The live tree in work/ is not part of the store.
store_size() { du -s -B1 --apparent-size --exclude=work "$@" | awk '{ sum += $1 } END { print sum }'; }

# --- measuring

# The beginning of a command that makes it run as the user who measures.  Empty: the user does not
# change.
as=()

# Adds one sample to LABEL.
measure() { # LABEL COMMAND...
	local label=$1
	shift
	if [ ${#as[@]} != 0 ]; then # meter runs as that user, too, so setpriv is not timed
		touch "$samples/$label"
		chown "$user_id" "$samples/$label"
	fi
	sync -f "$fs"
	"${as[@]}" "$tools/meter" "$samples/$label" "$fs" "$@" </dev/null >/dev/null 2>>"$log" ||
		fault "failed: $*"
}

# Columns of a sample; see meter.c.
WALL=1 SYNCED=2 CPU=3 RSS=4

# Prints the value of COLUMN that PERCENT of the samples do not exceed.
pick() { # LABEL COLUMN PERCENT
	sort -n -k "$2,$2" "$samples/$1" |
		awk -v column="$2" -v p="$3" '{ v[NR] = $column }
			END { n = NR * p / 100; i = int(n); if (i < n) i++; print v[i < 1 ? 1 : i] }'
}
p50() { pick "$1" "${2:-$WALL}" 50; }
p99() { pick "$1" "${2:-$WALL}" 99; }
most() { pick "$1" "$2" 100; }
least() { pick "$1" "${2:-$WALL}" 0; }
count() { wc -l <"$samples/$1"; }

calc() { awk "BEGIN { print ($*) }"; }
ratio() { calc "$2 == 0 ? 0 : $1 / $2"; }

as_time() { # microseconds
	awk -v t="$1" 'BEGIN {
		if (t < 1000) printf "%.2f ms", t / 1000
		else if (t < 100000) printf "%.1f ms", t / 1000
		else if (t < 1000000) printf "%.0f ms", t / 1000
		else printf "%.2f s", t / 1000000 }'
}
as_bytes() {
	awk -v b="$1" 'BEGIN {
		a = b < 0 ? -b : b
		if (a < 1024) printf "%d B", b
		else if (a < 1048576) printf "%.1f KiB", b / 1024
		else if (a < 1073741824) printf "%.1f MiB", b / 1048576
		else printf "%.2f GiB", b / 1073741824 }'
}
as_kib() { as_bytes $(($1 * 1024)); }
as_ratio() { awk -v r="$1" 'BEGIN { printf (r < 10 ? "%.2f×" : r < 100 ? "%.1f×" : "%.0f×"), r }'; }

# --- the report

say() { printf '%s\n' "$*" >>"$report"; }

targets_head() {
	say ""
	say "| target | limit | measured | |"
	say "|---|---|---|---|"
}

# Prints one line of the table of targets.  FORMAT is as_time, as_bytes or as_ratio.
target() { # TEXT FORMAT MEASURED at-most|at-least LIMIT
	local verdict="not met" sign="≤" test="<="
	[ "$4" = at-most ] || sign="≥" test=">="
	[ "$(calc "$3 $test $5")" = 0 ] || verdict=met
	say "| $1 | $sign $("$2" "$5") | $("$2" "$3") | $verdict |"
}

contenders_head() {
	say ""
	say "| | runs | p50 | p99 | CPU p50 | peak RSS | strata ÷ it |"
	say "|---|---|---|---|---|---|---|"
}

# Compares one contender with strata's own label.  COLUMN decides whether the sync is included.
contender() { # TEXT LABEL STRATA_LABEL [COLUMN]
	local column=${4:-$WALL} tail=- share=""
	[ "$(count "$2")" -lt 30 ] || tail=$(as_time "$(p99 "$2" "$column")")
	[ "$2" = "$3" ] || share=$(as_ratio "$(ratio "$(p50 "$3")" "$(p50 "$2" "$column")")")
	say "| $1 | $(count "$2") | $(as_time "$(p50 "$2" "$column")") | $tail |" \
		"$(as_time "$(p50 "$2" "$CPU")") | $(as_kib "$(most "$2" "$RSS")") | $share |"
}

faster_target() { # PEER LABEL STRATA_LABEL [COLUMN]
	target "times faster than $1" as_ratio \
		"$(ratio "$(p50 "$2" "${4:-$WALL}")" "$(p50 "$3")")" at-least 20
}
