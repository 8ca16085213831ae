# trace: a restore must not destroy the work of others, and must not claim more than it has done.
load helpers
load tracing

setup() {
	strata_setup
	mkdir work
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
}

# --------------------------------------------------------- others meanwhile

# Trace the command on standard input.  When it has done all its work and has not ended yet, another
# process runs the script in 'work'.
with_others() { # SCRIPT OF THE OTHER
	rm -f ask answer
	mkfifo ask answer
	(read -r _ <ask; cd work && eval "$1"; echo "done" >../answer) &
	trace sh -c "$(cat)
		echo now >../ask; read -r _ <../answer" >trace.out 2>&1
	wait
}

somebody_else() {
	rm -rf work
	mkdir -p work/listed work/emptied work/shared
	local f
	for f in read asked run gone mode; do echo old >work/$f; done
	echo mine >work/mine
	echo x >work/emptied/x
	chmod +x work/run
	with_others 'echo theirs >>read; echo theirs >>asked; echo made >made; rm gone; chmod 600 mode
		echo new >listed/new; rm emptied/x; chmod 711 shared' <<-'END'
		cat read gone >/dev/null; [ -e asked ]; [ ! -e made ]; ls -l run mode listed emptied >/dev/null
		cat emptied/x >/dev/null
		echo more >>mine; mkdir own; echo own >own/own; echo own >shared/own
	END
	is "$(manifest .complete)" true
	is "$(record read '.changed_by')" '"other"'
	is "$(record made '.changed_by')" '"other"'
	is "$(record gone '.changed_by')" '"other"'
	is "$(record mine '.changed_by')" '"command"'
	is "$(record own/own '.changed_by')" '"command"'
	is "$(record run '.changed_by')" null
	is "$(record listed '.changed_by')" '"other"'
	# The command has made a name in this directory, but has not changed its mode.
	is "$(record shared '.changed_by')" '"other"'
	local times
	times=$(stat -c %y work/listed work/emptied)
	run -0 strata trace restore --before bundle || { echo "$output"; return 1; }
	grep -qF "skipped    $(realpath work)/made  (another process changed it, not the command)" <<<"$output"
	is "$(cat work/read work/asked work/made work/mine work/listed/new | tr '\n' ' ')" \
		'old theirs old theirs made mine new '
	[ ! -e work/gone ]
	[ ! -e work/emptied/x ]
	[ ! -e work/own ]
	is "$(stat -c %a work/mode work/shared | paste -sd' ')" '600 711'
	[ ! -e work/shared/own ]
	is "$(stat -c %y work/listed work/emptied)" "$times"
	is "$(strata trace diff bundle | grep -c theirs)" 0
	strata trace show bundle | grep -qE '^\* r-------- +read$'
	# A restore of the state after the command does not make these changes either.
	rm work/read work/made
	strata trace restore bundle
	[ ! -e work/read ]
	[ ! -e work/made ]
	is "$(cat work/own/own)" own
}

@test "what others changed meanwhile is told apart, and not undone" {
	for ENGINE in $(engines); do somebody_else; done
}

# The command renames files, alone or with a directory, and then another process writes to them.
edited_after_a_rename() {
	rm -rf work bundle
	mkdir -p work/dir
	echo old | tee work/dir/{edited,kept,written} >work/file
	with_others 'echo theirs >>moved/edited; echo theirs >>file3' <<-'END'
		mv dir moved; mv file file2; mv file2 file3; echo mine >>moved/written
	END
	manifest -r '.incomplete_reasons[]' | grep -q "another program changed '.*/moved/edited'"
	is "$(record moved/edited '.changed_by')" '"other"'
	is "$(record moved/kept '.changed_by')" '"command"'
	is "$(record moved/written '.changed_by')" '"command"'
	is "$(record file3 '.changed_by')" '"other"'
	run -1 strata trace restore --before bundle || { echo "$output"; return 1; }
	grep -qF "skipped    $(realpath work)/moved/edited  (another process changed it after the command did)" <<<"$output"
	is "$(cat work/dir/edited work/dir/kept work/dir/written work/file | tr '\n' ' ')" 'old old old old '
	is "$(cat work/moved/edited work/file3 | tr '\n' ' ')" 'old theirs old theirs '
	is "$(ls work/moved)" edited
}

@test "a file that another program replaces at the last moment of a restore is kept" {
	rm -rf work/* work/.[!.]*
	echo old >work/file
	strata trace --output bundle -- sh -c 'echo new >work/file'
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_CALLS=rename FAULT_AT=1 FAULT_MODE=stop "$STRATA" trace restore --before bundle >out.txt 2>err.txt &
	pid=$!
	stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
	for _ in {1..200}; do ! stopped || break; sleep 0.05; done
	echo theirs >work/.theirs
	mv work/.theirs work/file
	kill -CONT "$pid"
	status=0
	wait "$pid" || status=$?
	is "$(cat work/file)" theirs
	is "$status" 1
	grep -q "it was changed meanwhile" err.txt out.txt
	is "$(ls -A work)" file
}

@test "what others wrote to a file after it was renamed is kept" {
	for ENGINE in $(engines); do edited_after_a_rename; done
}

# contested NAME...: exactly these files are contested.  A restore keeps them and fails.  With --force it
# does not keep them.
contested() {
	local name
	is "$(manifest -r --arg root "$(realpath work)/" '.files[] | select(.contested) | .path | ltrimstr($root)')" \
		"$(printf '%s\n' "$@")"
	is "$(manifest .complete)" false
	"$STRATA" trace verify bundle
	run -0 strata trace restore --before bundle --dry-run
	run -1 strata trace restore --before bundle || { echo "$output"; return 1; }
	for name; do grep -qE "^(skipped|outdated) +$(realpath work)/$name  \\(another process changed it" <<<"$output"; done
}

# The command renames, removes or makes files, or changes their mode.  Then another process edits,
# replaces or makes them again.
contested_afterwards() {
	rm -rf work bundle
	mkdir -p work/dir
	local f
	for f in edited replaced kept; do echo old >work/dir/$f; done
	for f in removed away mode written; do echo old >work/$f; done
	with_others 'echo theirs >>moved/edited
		for f in moved/replaced removed away written made; do echo theirs >.new; mv .new $f; done
		echo theirs >>mode; echo theirs >none; rm gone' <<-'END'
		mv dir moved; rm removed; mv away elsewhere; chmod 600 mode; echo mine >>written
		echo mine >made; chmod 600 none; echo mine >gone
		touch -d @1 elsewhere; /bin/true
	END
	contested away made mode moved/edited moved/replaced removed written
	is "$(cat work/dir/*  | paste -sd' ')" 'old old old'
	is "$(cat work/moved/edited | paste -sd' ')" 'old theirs'
	is "$(cat work/mode | paste -sd' ')" 'old theirs'
	is "$(cd work && cat moved/replaced removed away written made none | paste -sd' ')" \
		'theirs theirs theirs theirs theirs theirs'
	[ ! -e work/moved/kept ]
	[ ! -e work/gone ]
	is "$(record none .changed_by)" '"other"'
	# The command changed only the mode of this file, so its content is not in the bundle.
	run -1 strata trace restore --before bundle --force
	is "$(grep -c "^skipped    $(realpath work)/mode " <<<"$output")" 1
	is "$(cat work/removed work/away work/written | paste -sd' ')" 'old old old'
	is "$(cd work && ls)" "$(printf '%s\n' away dir mode none removed written)"
}

@test "what others did to a file after the command did is kept, and told" {
	for ENGINE in $(engines); do contested_afterwards; done
}

# The command reads or renames files.  Another process changes them, and then the command changes them,
# too.
contested_before() {
	rm -rf work bundle
	mkdir -p work/dir
	local f
	# When a file can be removed, those that were read before are saved.
	for f in read removed renamed last; do echo old >work/$f; done
	for f in removed written; do echo old >work/dir/$f; done
	with_others 'for f in read removed renamed moved/removed moved/written; do echo theirs >>$f; done' <<-'END'
		cat read removed renamed >/dev/null; rm last; mv dir moved
		echo now >../ask; read -r _ <../answer
		echo mine >>read; rm removed; mv renamed new; rm moved/removed; echo mine >>moved/written
		exit
	END
	contested dir/removed dir/written new read removed renamed
	is "$(paste -sd' ' work/read)" 'old theirs mine'
	is "$(cat work/removed work/renamed work/dir/removed work/dir/written | paste -sd' ')" 'old old old old'
	is "$(cat work/new | paste -sd' ')" 'old theirs'
	is "$(cat work/last)" old
}

@test "what others did to a file before the command did is said to be lost" {
	for ENGINE in $(engines); do contested_before; done
}

# None of these changes must be attributed to another program.
all_by_the_command() {
	witness sh -c '
		echo a >a; mv a b; echo c >c; mv c b; echo more >>b
		mkdir d; echo x >d/x; mv d e; mv e d; echo y >>d/x
		echo f >f; rm f; echo f >f; chmod 600 f; touch -d @1 f
		ln f g; rm f; mv g f; echo h >old; sed -i s/h/i/ old
		for i in 1 2 3 4 5 6; do (for k in 1 2 3 4 5 6 7 8 9; do echo $i >t$i; mv t$i target; done) & done
		wait; rm -r gone; mkdir gone; echo new >gone/f; rm kept || :; echo more >>kept'
	is "$(manifest '[.files[] | select(.contested)] | length')" 0
}

@test "what only the command did is not taken for the work of others" {
	for ENGINE in $(engines); do
		rm -rf work bundle
		mkdir -p work/gone
		echo old | tee work/old work/kept >work/gone/f
		all_by_the_command
	done
}

# The command asks about files, another process changes them, and then the command changes them.
changed_in_turn() {
	rm -rf work
	mkdir work
	local f
	for f in written gone attributes replaced other read; do echo old >work/$f; done
	rm -f ask answer
	mkfifo ask answer
	(read -r _ <ask
		cd work || exit
		echo theirs >>written; rm gone; echo theirs >made; echo theirs >removed
		echo theirs >>attributes; mv other replaced
		echo "done" >../answer) &
	trace sh -c 'ls -l written gone attributes replaced >/dev/null; [ ! -e made ]; [ ! -e removed ]
		echo now >../ask; read -r _ <../answer
		sed -i s/old/mine/ written; echo mine >gone; echo mine >made; rm removed replaced
		chmod 600 attributes' >trace.out 2>&1
	wait
	is "$(manifest -c '[.complete, .incomplete_reasons]')" '[true,[]]'
	strata trace restore --before bundle
	is "$(cat work/written work/made work/removed work/attributes work/replaced | paste -sd' ')" \
		'old theirs theirs theirs old theirs old'
	is "$(stat -c %a work/attributes)" 644
	[ ! -e work/gone ]
}

@test "what others changed before the command did is not undone" {
	for ENGINE in $(engines); do changed_in_turn; done
}

@test "what others changed between a read and a change by the command is said to be lost" {
	for ENGINE in $(engines); do
		rm -f ask answer
		mkfifo ask answer
		echo old | tee work/last >work/f
		(read -r _ <ask; echo theirs >>work/f; echo "done" >answer) &
		# When a file can be removed, those that were read before are saved.
		trace sh -c 'cat f >/dev/null; rm last; echo now >../ask; read -r _ <../answer; echo mine >>f' >trace.out 2>&1
		wait
		is "$(manifest .complete)" false
		run -1 strata trace restore --before bundle || { echo "$output"; return 1; }
		grep -qF "skipped    $(realpath work)/f  (another process changed it before the command did, and that is not recorded)" <<<"$output"
		is "$(paste -sd' ' work/f)" 'old theirs mine'
		run -0 strata trace restore --before --force bundle
		is "$(cat work/f)" old
	done
}

@test "what was changed by another name of it is the command's, wherever that name is" {
	mkdir work/hidden
	for name in a c; do
		echo old >work/$name
		ln work/$name work/hidden/$name
	done
	echo old >work/d
	ln work/d work/e
	echo "[\"$(realpath work)/hidden\"]" >ignore.json
	walk work --content >before
	(cd work && strata trace --ignore ../ignore.json --snapshot-dir ../bundle -- \
		sh -c 'ls -l >/dev/null; echo more >>hidden/a; chmod 600 hidden/c; chmod 600 d')
	is "$(record a .changed_by)" '"command"'
	is "$(record c .changed_by)" '"command"'
	is "$(record e .changed_by)" '"command"'
	strata trace restore --before bundle
	is "$(stat -c %a work/c work/e | paste -sd' ')" "644 644"
}

# --------------------------------------------------------- what has no record

repository() { # NAME
	git init -q "work/$1"
	echo "$1" >"work/$1/f"
	git -C "work/$1" add f
	git -C "work/$1" -c user.name=a -c user.email=a@x commit -qm "of $1"
}

# Undone and done again, each repository is what and where it was.
moved_repositories() { # COMMAND
	rm -rf work
	mkdir work
	repository repo
	repository other
	walk work --no-mtime >before
	trace sh -c "$1"
	walk work --no-mtime >after
	strata trace verify bundle
	run -0 strata trace restore --before bundle
	walk work --no-mtime | diff -u before -
	is "$(git -C work/repo log --format=%s; git -C work/other log --format=%s)" $'of repo\nof other'
	run -0 strata trace restore --before bundle
	walk work --no-mtime | diff -u before -
	run -0 strata trace restore bundle
	walk work --no-mtime | diff -u after -
	run -0 strata trace restore --before bundle
	walk work --no-mtime | diff -u before -
	git -C work/repo fsck --strict
}

@test "a repository that was renamed comes back with its .git" {
	need git python3
	for ENGINE in $(engines); do
		moved_repositories 'mv repo repo2'
		moved_repositories 'mv repo r1; mv r1 r2; echo more >>r2/f; echo file >repo'
		moved_repositories 'mkdir -p deep/er; mv repo deep/er/; mv deep sea'
		moved_repositories 'mv repo x; mv other repo; mv x other'
		moved_repositories 'mv repo x; mv other repo; rm repo/f; rm -f x/f'
		moved_repositories 'exec python3 -c "
import ctypes
here, exchange = -100, 2
raise SystemExit(ctypes.CDLL(None).renameat2(here, b\"repo\", here, b\"other\", exchange))"'
	done
}

@test "a .git that got another name is .git again" {
	need git
	repository repo
	walk work --no-mtime >before
	trace mv repo/.git repo/saved
	run -0 strata trace restore --before bundle
	walk work --no-mtime | diff -u before -
	# Done again it is a copy, and as such goes again.
	run -0 strata trace restore bundle
	git -C work/repo/saved log
	run -0 strata trace restore --before bundle
	walk work --no-mtime | diff -u before -
}

@test "a .git that was moved by copying is not deleted with its copy" {
	need git
	repository repo
	trace sh -c 'cp -a repo repo2; rm -rf repo'
	run -0 strata trace restore --before bundle
	grep -qF "skipped    $(realpath work)/repo/.git  (the command removed it, and it is not recorded)" <<<"$output"
	git -C work/repo2 fsck --strict
	is "$(cat work/repo/f)" repo
}

@test "a repository that the command made goes with its directory, however it came there" {
	need git
	repository repo
	trace sh -c 'git clone -q repo clone; git clone -q repo x; mv x renamed'
	run -0 strata trace restore --before bundle
	is "$(ls work)" repo
}

@test "work done in a new repository in the second in which the command ended is kept" {
	need git
	repository repo
	trace git clone -q repo clone
	sleep 0.1 # a kernel's clock of files may be a tick late
	echo mine >work/clone/.git/mine
	run -0 strata trace restore --before bundle
	is "$(cat work/clone/.git/mine)" mine
}

@test "what comes out of an ignored directory goes back there" {
	mkdir -p work/hidden/d
	echo one >work/hidden/d/f
	echo two >work/hidden/d/g
	echo three >work/hidden/h
	echo "[\"/proc\", \"$(realpath work)/hidden\"]" >ignore.json
	walk work --content --no-mtime >before
	(cd work && "$STRATA" trace --ignore ../ignore.json --snapshot-dir ../bundle -- \
		sh -c 'mv hidden/d out; mv out/g g; mv hidden/h .; echo new >hidden/new; mv hidden/new new')
	run -0 strata trace restore --before bundle
	walk work --content --no-mtime | diff -u before -
}

# ------------------------------------------------------------------ long paths

# Thirty directories of 200 bytes each, with a file in each of them: do something there.
deep() {
	python3 - "$1" <<-'END'
		import os, sys
		os.chdir("work")
		for i in range(30):
		    name = f"{i:03}" + 197 * "d"
		    if sys.argv[1] == "make":
		        os.mkdir(name)
		    os.chdir(name)
		    exec({
		        "make": "print(f'old {i}', file=open('f', 'w')); print(i, file=open('gone', 'w')); os.symlink('f', 'l')",
		        "print": "print(i, sorted(x for x in os.listdir() if len(x) < 10), open('f').read(), os.stat('f').st_mode, os.listxattr('f'))",
		    }[sys.argv[1]])
	END
}

deeply() { # WHAT
	cat >deep.py <<-'END'
		import os, sys
		for i in range(30):
		    os.chdir(f"{i:03}" + 197 * "d")
		    exec(sys.argv[1])
	END
	trace python3 ../deep.py "$1"
}

@test "files deeper than a path can be long are told of and put back" {
	need python3
	deep make
	deep print >before
	for ENGINE in $(engines); do
		deeply 'open("f").read(); os.readlink("l"); os.access("none", 0)'
		is "$(manifest -c '[.complete, .incomplete_reasons]')" '[true,[]]'
		is "$(manifest '[.files[] | select(.path | endswith("/f") and contains("dddd")) | select(.before.blob and .after.exists)] | length')" 30
		is "$(manifest '[.files[] | select(.path | contains("dddd")) | select(.changed_by)] | length')" 0
		run -0 strata trace restore --before bundle
		deep print | diff -u before -
		deeply 'os.unlink("gone"); print("new", file=open("f", "a")); os.mkdir("n"); os.rename("f", "n/g"); os.link("n/g", "f"); os.chmod("f", 0o600); os.unlink("l")'
		is "$(manifest -c '[.complete, .incomplete_reasons]')" '[true,[]]'
		strata trace verify bundle
		deep print >after
		run ! diff -q before after
		run -0 strata trace restore --before bundle
		deep print | diff -u before -
		run -0 strata trace restore bundle
		deep print | diff -u after -
		run -0 strata trace restore --before bundle
	done
}

@test "a file whose name nobody can find is said not to be told of" {
	need python3
	deep make
	deeply 'fd = os.open("f", 0); os.fchmod(fd, 0o600); os.close(fd)'
	[[ $(manifest -r '.incomplete_reasons[]') == *"path is too long to be known"* ]]
}

# ------------------------------------------------------------------ interrupted

# A command with something of everything.
everything() {
	mkdir -p work/ro/in work/private work/dir-to-file/sub work/gone/deep work/kept
	echo one >work/ro/in/f
	echo two >work/ro/g
	echo secret >work/private/s
	echo x >work/dir-to-file/sub/x
	echo file >work/file-to-dir
	echo link >work/file-to-link
	ln -s nowhere work/link-to-dir
	echo deep >work/gone/deep/f
	echo linked >work/l1
	ln work/l1 work/l2
	echo mode >work/mode
	echo suid >work/suid
	chmod 4711 work/suid
	chmod 600 work/private/s work/mode
	chmod 700 work/private
	repository repo
	chmod 555 work/ro/in work/ro
	cat >command.sh <<-'END'
		set -e
		chmod 755 ro ro/in
		rm -r ro private gone
		mkdir -m 750 gone
		rm -r dir-to-file; echo now >dir-to-file
		rm file-to-dir; mkdir -p file-to-dir/a; echo b >file-to-dir/a/b
		rm file-to-link; ln -s elsewhere file-to-link
		rm link-to-dir; mkdir link-to-dir
		echo changed >l1; rm l2
		chmod 644 mode
		touch -d 2001-01-01 kept
		if [ "$(id -u)" = 0 ]; then chown 1000 mode suid; fi; chmod 700 suid
		mv repo moved
		mkdir -p new/er; for i in 1 2 3 4 5; do echo $i >new/er/$i; done; chmod 500 new/er
	END
}

# Any umask is somebody's.
restore_at() { # N MODE
	(umask 077 && LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_AT=$1 FAULT_MODE=$2 \
		"$STRATA" trace restore "${SIDE[@]}" bundle >restore.out 2>&1)
}

# To every point at which a restore can be killed: another one completes it.
interrupted() { # MODE STATE
	local at status points step
	strata trace restore "${BACK[@]}" bundle >/dev/null
	LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_COUNT=$PWD/points strata trace restore "${SIDE[@]}" bundle
	points=$(cat points)
	rm points
	[ "$points" -gt 40 ]
	step=11
	[ -z "${FAULT_ALL:-}" ] || step=1
	for ((at = 1 + RANDOM % step; at <= points; at += step)); do
		strata trace restore "${BACK[@]}" bundle >/dev/null
		status=0
		{ restore_at $at "$1" || status=$?; } 2>/dev/null # the shell tells of each that is killed
		[ $status = 137 ] || { [ "$1" = killafter ] && is $status 0; } # a call that fails kills nobody
		(umask 077 && "$STRATA" trace restore "${SIDE[@]}" bundle >restore.out 2>&1) ||
			{ echo "killed at $at of $points:"; cat restore.out; return 1; }
		walk work --content --exclude .git | diff -u "$2" - || { echo "killed at $at of $points"; return 1; }
		is "$(find work -name '.strata*')" ""
		git -C work/repo status >/dev/null 2>&1 || git -C work/moved status >/dev/null
	done
}

@test "a restore that was killed can be continued, and leaves nothing behind" {
	need git
	everything
	walk work --content --exclude .git >before
	trace sh ../command.sh
	walk work --content --exclude .git >after
	SIDE=(--before) BACK=()
	for mode in kill killafter; do interrupted $mode before; done
	SIDE=() BACK=(--before)
	interrupted kill after
}

@test "a restore that is told to end says so, leaves nothing behind, and can be continued" {
	need git
	everything
	walk work --content --exclude .git >before
	trace sh ../command.sh
	walk work --content --exclude .git >after
	# The signal waits before strata begins.
	run -1 --separate-stderr env --block-signal=TERM sh -c 'kill -TERM $$; exec "$@"' sh \
		"$STRATA" trace restore --before bundle
	[[ $stderr == *"interrupted; the same command completes it"* ]]
	walk work --content --exclude .git | diff -u after -
	run -0 strata trace restore --before bundle
	walk work --content --exclude .git | diff -u before -
}

@test "an ordinary user's restore in closed directories can be continued" {
	need git
	as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --bounding-set=-all --inh-caps=-all --)
	mkdir -p work/closed/in
	for i in 1 2 3 4; do echo $i >work/closed/in/$i; done
	chmod 555 work/closed work/closed/in
	walk work --content >before
	trace "${as[@]}" sh -c 'chmod 755 closed/in; for i in 1 2 3 4; do echo new >>closed/in/$i; done; echo more >closed/in/5; chmod 555 closed/in'
	SIDE=(--before)
	for at in $(seq 1 4 100); do
		"${as[@]}" "$STRATA" trace restore bundle >/dev/null
		{ LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_AT=$at FAULT_MODE=kill \
			"${as[@]}" "$STRATA" trace restore --before bundle >restore.out 2>&1 || true; } 2>/dev/null
		"${as[@]}" "$STRATA" trace restore --before bundle >restore.out || { echo "at $at"; cat restore.out; return 1; }
		walk work --content | diff -u before - || { echo "at $at"; return 1; }
	done
}

# ------------------------------------------------------------- what cannot be

@test "a file that may not be read keeps nobody else from being restored" {
	as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --bounding-set=-all --inh-caps=-all --)
	mkdir work/shut work/open
	for f in a b c shut/d open/e; do echo old >work/$f; done
	trace sh -c 'for f in a b c shut/d open/e; do echo new >$f; done'
	chmod 000 work/b work/shut
	run -1 "${as[@]}" "$STRATA" trace restore --before bundle
	grep -q "^skipped    $(realpath work)/b  (.*Permission denied)$" <<<"$output"
	grep -q "^skipped    $(realpath work)/shut/d  (.*Permission denied)$" <<<"$output"
	grep -q '^3 restored, ' <<<"$output"
	run -0 "${as[@]}" "$STRATA" trace restore --before bundle --dry-run --json
	is "$(jq -c '[.plan[] | select(.action == "skip" and (.reason | contains("denied")))] | length' <<<"$output")" 2
	chmod 755 work/shut
	chmod 644 work/b
	is "$(cat work/a work/b work/c work/shut/d work/open/e | tr '\n' ' ')" "old new old new old "
	run -0 "${as[@]}" "$STRATA" trace restore --before bundle
	is "$(cat work/?  work/*/? | sort -u)" old
}

# ------------------------------------------------------------------ attributes

# In order of their names: a directory need not list what was made again where it was.
acls() { find work ! -type l | sort | getfacl -p --omit-header - 2>/dev/null; }

@test "what is made again has the ACL it had, and none that its directory gives away" {
	need setfacl getfacl python3
	mkdir work/d work/d/sub
	echo plain >work/d/plain
	echo own >work/d/own
	mkfifo work/d/fifo
	ln -s plain work/d/link
	chmod 640 work/d/plain
	setfacl -m u:1:r work/d/own 2>/dev/null || unavailable "no ACLs here"
	setfacl -d -m u:2:rwx,g:3:r work/d
	setfacl -d -m u:4:rw work/d/sub
	echo given >work/d/given # has what the directory gives
	acls >before
	walk work --content >before.walk
	trace sh -c 'rm -r d/plain d/own d/fifo d/link d/sub d/given; mkdir d/new; echo n >d/new/n'
	acls >after
	run -0 strata trace restore --before bundle
	acls | diff -u before -
	walk work --content | diff -u before.walk -
	run -0 strata trace restore bundle
	acls | diff -u after -
	# Also with what is only replaced.
	run -0 strata trace restore --before bundle
	trace python3 -c 'open("d/plain", "a").write("more")'
	run -0 strata trace restore --before bundle
	acls | diff -u before -
}

# ---------------------------------------------------------------------- verify

@test "a fresh bundle is whole, whatever became of the files" {
	as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --bounding-set=-all --inh-caps=-all --)
	mkdir work/d
	echo read >work/d/read
	echo written >work/d/written
	run -0 trace "${as[@]}" sh -c 'cat d/read; echo more >>d/written'
	strata trace verify bundle
	# Nobody can look at them in the end.
	chmod 755 work/d
	rm -rf bundle
	(cd work && "${as[@]}" "$STRATA" trace --snapshot-dir "$BATS_TEST_TMPDIR/bundle" -- \
		sh -c 'cat d/read; echo more >>d/written; chmod 000 d')
	chmod 755 work/d
	is "$(manifest .complete)" false
	is "$(manifest -c '[.kept_blobs[].blob | sub(".*/"; "")] | sort')" '["read","written"]'
	run -0 strata trace verify bundle
}

@test "contents of names that read alike are kept apart" {
	printf 1 >work/$'a\377'
	printf 2 >work/aÿ
	printf 3 >work/'aÿ (2)'
	trace sh -c 'cat * >/dev/null; for f in *; do printf x >>"$f"; done'
	run -0 strata trace verify bundle
	run -0 strata trace restore --before bundle
	is "$(cat work/$'a\377') $(cat work/aÿ) $(cat work/'aÿ (2)')" "1 2 3"
}

@test "rows of a large content are not those of a file with such a name" {
	[ "$(df --output=avail -B1M . | tail -n 1)" -gt 4000 ] || unavailable "no room for large files"
	echo small >work/'big#2'
	truncate -s 1100M work/big
	trace sh -c 'echo more >>"big#2"; echo more >>big'
	run -0 strata trace verify bundle
	is "$(strata trace cat bundle before "$(realpath work)/big#2")" small
}

flip() { # FILE BYTE BIT
	python3 - "$@" <<-'END'
		import sys
		name, at, bit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		with open(name, "r+b") as file:
		    file.seek(at)
		    byte = file.read(1)[0]
		    file.seek(at)
		    file.write(bytes([byte ^ 1 << bit]))
	END
}

@test "verify finds every flipped bit" {
	need python3
	echo one >work/one
	cat >ignore.json <<<'["/proc", "/etc", "/lib", "/lib64", "/usr", "/bin", "/dev", "/sys", "/root", "/home"]'
	(cd work && "$STRATA" trace --ignore ../ignore.json --snapshot-dir ../bundle -- sh -c 'echo more >>one; mkdir d; ln -s x l')
	run -0 strata trace verify bundle
	cp -a bundle whole
	local name size at step=${FLIP_STEP:-1009}
	for name in manifest.json blobs.parquet; do
		size=$(stat -c %s whole/$name)
		for ((at = RANDOM % step; at < size * 8; at += step)); do
			cp whole/$name bundle/$name
			flip bundle/$name $((at / 8)) $((at % 8))
			run strata trace verify bundle
			[ $status = 1 ] || { echo "$name bit $at: $status $output"; return 1; }
		done
		# The digest itself, and what says that there is one.
		[ $name = manifest.json ] || continue
		for ((at = 0; at < 300 * 8; at += 149)); do
			cp whole/$name bundle/$name
			flip bundle/$name $((at / 8)) $((at % 8))
			run -1 strata trace verify bundle
		done
		cp whole/$name bundle/$name
	done
	cp whole/* bundle
	echo >>bundle/blobs.parquet
	run -1 strata trace verify bundle
	rm bundle/blobs.parquet
	run -1 strata trace verify bundle
}

@test "a manifest that was changed is not restored unless forced" {
	echo one >work/f
	trace sh -c 'echo two >f'
	sed -i 's/"mode":33188/"mode":33189/' bundle/manifest.json
	run -1 --separate-stderr strata trace restore --before bundle
	[[ $stderr == *"not as it was written; nothing was touched"* ]]
	is "$(cat work/f)" two
	run -0 strata trace restore --before --force bundle
	is "$(cat work/f)" one
}

# ------------------------------------------------------------------ not missed

@test "a core dump makes a bundle incomplete, unless a program takes it" {
	for ENGINE in $(engines); do
		trace sh -c 'ulimit -c unlimited; sh -c "kill -SEGV \$\$"; true' 2>/dev/null
		find work -name '*core*' | grep -q . || { is "$(manifest .complete)" true; continue; }
		[[ $(manifest -r '.incomplete_reasons[]') == *"dumped core"* ]]
		rm -f work/*core*
		run trace sh -c 'ulimit -c unlimited; kill -SEGV $$'
		[[ $(manifest -r '.incomplete_reasons[]') == *"dumped core"* ]]
		run trace sh -c 'ulimit -c 0; kill -SEGV $$'
		is "$(manifest .complete)" true
		rm -f work/*core*
	done
}

changed_nameless() { # SEEN, PYTHON CODE: with fd, a descriptor of a, which is removed, and its other name b
	rm -rf work
	mkdir work
	echo old >work/a
	ln work/a work/b
	walk work --content >before
	trace python3 -c "import os
$1
fd = os.open('a', os.O_RDWR if 'truncate' in '''$2''' else os.O_RDONLY)
os.unlink('a')
$2"
}

@test "what is changed by a descriptor whose name is gone is told, or said not to be" {
	need python3
	for ENGINE in $(engines); do
		for code in 'os.fchmod(fd, 0o600)' 'os.setxattr(fd, "user.x", b"y")' 'os.utime(fd, (1, 1))'; do
			changed_nameless '' "$code"
			[[ $(manifest -r '.incomplete_reasons[]') == *"names that were not seen"* ]]
			changed_nameless 'os.stat("b")' "$code"
			is "$(manifest -c .incomplete_reasons)" '[]'
			is "$(record b .changed_by)" '"command"'
			run -0 strata trace restore --before bundle
			walk work --content | diff -u before -
		done
		changed_nameless 'os.stat("b")' 'os.ftruncate(fd, 1)'
		is "$(manifest -c .incomplete_reasons)" '[]'
		run -0 strata trace restore --before bundle
		walk work --content | diff -u before -
		# One without any name left is nobody's.
		rm -f work/b
		trace python3 -c "import os; fd = os.open('a', 0); os.unlink('a'); os.fchmod(fd, 0o600)"
		is "$(manifest -c .incomplete_reasons)" '[]'
	done
}

@test "openat2 with RESOLVE_IN_ROOT is followed where it leads" {
	need python3
	[ "${REFUSED:-}" != openat2 ] || skip "openat2 refused"
	mkdir -p work/root/etc work/etc
	echo inside >work/root/etc/file
	echo not >work/etc/file
	ln -s /etc/file work/root/abs
	ln -s ../../../etc/up work/root/up
	cat >in-root.py <<-'END'
		import ctypes, os
		class How(ctypes.Structure):
		    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]
		root = os.open("root", os.O_RDONLY | os.O_DIRECTORY)
		def open_in(path, flags, mode=0):
		    how = How(flags, mode, 0x10)
		    # The kernel gives up with EAGAIN (11) when files are renamed or mounts made meanwhile.
		    for _ in range(1000):
		        fd = ctypes.CDLL(None, use_errno=True).syscall(437, root, path, ctypes.byref(how), ctypes.sizeof(how))
		        if fd >= 0 or ctypes.get_errno() != 11:
		            break
		    assert fd >= 0, (path, ctypes.get_errno())
		    return fd
		os.read(open_in(b"/etc/file", os.O_RDONLY), 10)
		os.write(open_in(b"abs", os.O_WRONLY | os.O_APPEND), b"more")
		os.write(open_in(b"../../up", os.O_WRONLY | os.O_CREAT, 0o644), b"new")
	END
	for ENGINE in $(engines); do
		witness python3 ../in-root.py
		is "$(record root/etc/file '.operations | contains(["read", "write"])')" true
		is "$(record root/etc/up .after.exists)" true
	done
}

# -------------------------------------------------------------- several names

# All is told and put back, and what is one file is one file again.
tied() { # COMMAND
	rm -rf work
	mkdir work
	echo old >work/a
	ln work/a work/b
	walk work --content >before
	trace sh -c "$1" >/dev/null
	walk work --content >after
	is "$(manifest -c .incomplete_reasons)" '[]'
	strata trace verify bundle >/dev/null
	run -0 strata trace restore --before bundle
	walk work --content | diff -u before - || { echo "before: $1"; return 1; }
	run -0 strata trace restore bundle
	walk work --content | diff -u after - || { echo "after: $1"; return 1; }
}

@test "two names of one file stay one, and become it again" {
	need python3 setfattr
	echo >work/try
	setfattr -n user.try -v x work/try 2>/dev/null || unavailable "no extended attributes here"
	for ENGINE in $(engines); do
		tied 'ls -l a b; chmod 600 a'
		tied 'ls -l a b; echo more >>a; chmod 600 b'
		tied 'ls -l a b; setfattr -n user.x -v 1 b'
		tied 'setfattr -n user.x -v 1 b; ls -l a; setfattr -x user.x a; setfattr -n user.y -v 1 a'
		tied 'mv a c; mv b d'
		tied 'mkdir d; mv a d; mv b d'
		tied 'rm a; cp b a'
		tied 'cp -a b x; mv x a'
		tied 'cp -a b x; mv x a; echo more >>a'
		tied 'rm a b; echo new >a; ln a b'
		tied 'ls a; exec python3 -c "import os; os.rename(\"a\", \"b\")"'
		tied 'chmod 600 b; cat a; rm a'
	done
	# A rename of one name of a file over the other does nothing.
	trace python3 -c 'import os; os.link("b", "n"); os.rename("b", "n")'
	is "$(record b .after.exists)" true
}

@test "a name whose others were not seen is a change that is told, and a copy when it comes back" {
	echo old >work/a
	ln work/a work/b
	trace chmod 600 a
	[[ $(manifest -r '.incomplete_reasons[]') == *"names that were not seen"* ]]
	trace rm a
	run -0 strata trace restore --before bundle
	grep -qF "copied     $(realpath work)/a  (it is a copy, since it had other names that were not seen)" <<<"$output"
	rm work/a
	run -0 strata trace restore --before bundle --json
	is "$(jq -c '.skipped[] | select(.copied) | .path' <<<"$output")" "\"$(realpath work)/a\""
}

@test "a program with file capabilities is told to have run without them" {
	need_root
	need setcap setpriv
	outside=$(mktemp -d "${TMPDIR:-/tmp}/strata-trace.XXXXXX")
	chmod 777 "$outside"
	cp "$(command -v cat)" "$outside/able"
	setcap cap_dac_override+ep "$outside/able" || unavailable "no file capabilities here"
	for engine in notify ptrace; do
		(cd "$outside" && setpriv --reuid 12345 --regid 12345 --clear-groups \
			env -u XDG_CONFIG_HOME HOME=/nowhere "$STRATA" trace --engine $engine --snapshot-dir bundle-$engine -- sh -c './able </dev/null') 2>errors
		grep -qF "'$outside/able' has file capabilities, and ran without them because it was traced" errors
	done
	# Root's tracing takes none away.
	(cd "$outside" && strata trace --snapshot-dir bundle -- ./able </dev/null)
	complete=$(jq .complete "$outside/bundle/manifest.json")
	rm -rf "$outside"
	is "$complete" true
}

# -------------------------------------------------------------------------- git

@test "a work tree that was removed is restored from the objects of its repository" {
	need git
	repository repo
	for how in 'git -C repo worktree remove --force ../tree' 'rm -rf tree' 'mv tree away; rm -rf away'; do
		git -C work/repo worktree prune
		git -C work/repo worktree add -q ../tree HEAD
		echo untracked >work/tree/u
		walk work/tree --content --exclude .git >before
		trace sh -c "cat tree/f; $how" # by then it is known to be clean
		[ ! -e work/tree ]
		is "$(manifest -r '.git_repositories[] | select(.root | endswith("/tree")) | .common')" "$(realpath work/repo)/.git/"
		run -0 strata trace restore --before bundle
		walk work/tree --content --exclude .git | diff -u before -
		rm -rf work/tree
		run -0 strata trace cat bundle before "$(realpath work)/tree/f"
		is "$output" repo
	done
	# Without the repository there is nothing to be had.
	rm -rf work/repo
	run -1 strata trace cat bundle before "$(realpath work)/tree/f"
}

# ----------------------------------------------------------------- the bundle

@test "a command that writes to where the bundle is to be does not cost it" {
	echo old >work/f
	for how in 'mkdir ../b; echo x >../b/x' 'echo x >../b' 'mkdir ../b; mkdir ../b.1; echo x >../b/x'; do
		rm -rf b b.*
		run -3 --separate-stderr env -C work "$STRATA" trace --snapshot-dir ../b -- sh -c "echo new >>f; $how; exit 3"
		[[ $stderr == *"'../b' is not empty any more: the bundle is '$PWD/b."* ]]
		made=$(ls -d b.* | tail -n 1)
		strata trace verify "$made"
		is "$(jq .complete "$made/manifest.json")" true
		run -0 strata trace restore --before "$made"
		is "$(cat work/f)" old
	done
	# An empty one is taken.
	rm -rf b b.*
	(cd work && strata trace --snapshot-dir ../b -- sh -c 'mkdir ../b; echo more >>f')
	strata trace verify b
}

@test "a command that clears the directory of the bundle does not cost it" {
	mkdir -p place/deep
	echo old >work/f
	for how in 'find "$1" -mindepth 1 -delete' 'rm -rf "$1"/.[!.]* "$1"/*' 'rm -rf "$1"' 'rm -rf "${1%/*}"' 'mv "$1" "$1-away"'; do
		rm -rf place
		mkdir -p place/deep
		(cd work && strata trace --snapshot-dir "$BATS_TEST_TMPDIR/place/deep/b" -- \
			sh -c "echo new >>f; $how; cat f" sh "$BATS_TEST_TMPDIR/place/deep" >/dev/null)
		bundle=$(find place -name b)
		strata trace verify "$bundle"
		run -0 strata trace restore --before "$bundle"
		is "$(cat work/f)" old
		is "$(find place -name '.*')" ""
	done
}

# ----------------------------------------------------------------- large files

@test "of a large file that is only read there is a digest, and holes cost nothing" {
	need python3
	python3 -c '
import os
with open("work/sparse", "wb") as file:
    file.truncate(10 << 30)
    file.seek(5 << 30)
    file.write(b"in the middle")
with open("work/dense", "wb") as file:
    file.write(os.urandom(1 << 20) * 3)'
	truncate -s 100K work/small
	(cd work && strata trace --read-limit 2M --snapshot-dir ../bundle -- \
		python3 -c 'for name in "sparse", "dense", "small": open(name, "rb").read(1)')
	is "$(manifest -c '.complete, .incomplete_reasons')" $'true\n[]'
	is "$(record sparse '[.before.size, .before.sha256, .before.blob, (.before.sha256_blocks | length)]')" '[10737418240,null,null,64]'
	is "$(record dense '[.before.sha256, .before.blob]')" "[\"$(sha256sum work/dense | cut -d' ' -f1)\",null]"
	is "$(record small '.before.blob | type')" '"string"'
	is "$(record sparse .changed_by)" null
	[ "$(stat -c %s bundle/blobs.parquet)" -lt 30000000 ]
	is "$(record sparse .before.sha256_blocks)" "\"$(python3 -c '
import hashlib
number = (5 << 30) // 4096
whole = hashlib.sha256(number.to_bytes(8, "little") + b"in the middle".ljust(4096, b"\0"))
whole.update((10 << 30).to_bytes(8, "little"))
print(whole.hexdigest())')\""
	run -1 --separate-stderr strata trace cat bundle before dense
	[[ $stderr == *"it is large and was only read"* ]]
	run -0 strata trace verify bundle
	run -2 --separate-stderr strata trace --read-limit much --snapshot-dir b -- true
}

@test "a large file that is read and then changed is saved whole, and holes come back" {
	need python3
	for ENGINE in $(engines); do
		rm -rf work/*
		python3 -c '
with open("work/sparse", "wb") as file:
    file.truncate(100 << 20)
    file.seek(50 << 20)
    file.write(b"in the middle")'
		walk work --content >before
		trace python3 -c '
with open("sparse", "rb") as file:
    file.read(1)
with open("sparse", "r+b") as file:
    file.write(b"x")'
		is "$(manifest -c .incomplete_reasons)" '[]'
		is "$(record sparse '[.before.blob, .after.blob] | map(type)')" '["string","string"]'
		run -0 strata trace restore --before bundle
		walk work --content | diff -u before -
		[ "$(stat -c %b work/sparse)" -lt 1000 ]
	done
}

@test "what is read or run of a program is not saved above the limit, and replayed" {
	cp "$(command -v busybox)" work/busybox
	echo in >work/in
	(cd work && strata trace --read-limit 1K --snapshot-dir ../bundle -- ./busybox sh -c 'cat in >out')
	is "$(record busybox '[.before.blob, (.before.sha256 | length)]')" '[null,64]'
	is "$(record in '.before.blob | type')" '"string"'
	run -0 strata trace replay bundle
}

@test "saving leaves room for others, and says so" {
	need_root
	mkdir small
	mount -t tmpfs -o size=40m strata-trace-test small
	for i in 1 2 3 4 5; do head -c 10000000 /dev/urandom >work/$i; done
	run -0 --separate-stderr strata trace --snapshot-dir small/b -- sh -c 'for i in 1 2 3 4 5; do echo more >>work/$i; done'
	free=$(df --output=avail -B1 small | tail -n 1)
	reasons=$(jq -r '.incomplete_reasons[]' small/b/manifest.json)
	status=0
	strata trace verify small/b || status=$?
	umount small
	is $status 0
	[[ $reasons == *"are left to others"* ]]
	[ "$free" -gt 1000000 ]
}

@test "of a repository with a broken index it is said that the index is" {
	need git
	repository repo
	cp work/repo/.git/index good
	for size in 0 5 20 100; do
		head -c $size good >work/repo/.git/index
		trace cat repo/f
		is "$(manifest -r '.incomplete_reasons[]')" \
			"git repository '$(realpath work)/repo' could not be read: the index of git repository '$(realpath work)/repo' is damaged, or may not be read"
		is "$(record repo/f '.before.blob | type')" '"string"'
	done
	rm work/repo/.git/index
	trace cat repo/f
	is "$(manifest .complete)" true
}
