# trace: what hostile use must not destroy, and what may not be claimed.
load helpers
load tracing

setup() {
	strata_setup
	mkdir work
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
}

# --------------------------------------------------------- others meanwhile

# What somebody else does in work when the command, which is on standard input, has done all it does
# and has not ended.
with_others() { # SCRIPT OF THE OTHER
	rm -f ask answer
	mkfifo ask answer
	(read -r _ <ask; cd work && eval "$1"; echo done >../answer) &
	trace sh -c "$(cat)
		echo now >../ask; read -r _ <../answer" >trace.out 2>&1
	wait
}

somebody_else() {
	rm -rf work
	mkdir -p work/listed work/emptied
	local f
	for f in read asked run gone mode; do echo old >work/$f; done
	echo mine >work/mine
	echo x >work/emptied/x
	chmod +x work/run
	with_others 'echo theirs >>read; echo theirs >>asked; echo made >made; rm gone; chmod 600 mode
		echo new >listed/new; rm emptied/x' <<-'END'
		cat read gone >/dev/null; [ -e asked ]; [ ! -e made ]; ls -l run mode listed emptied >/dev/null
		cat emptied/x >/dev/null
		echo more >>mine; mkdir own; echo own >own/own
	END
	is "$(manifest .complete)" true
	is "$(record read '.changed_by')" '"other"'
	is "$(record made '.changed_by')" '"other"'
	is "$(record gone '.changed_by')" '"other"'
	is "$(record mine '.changed_by')" '"command"'
	is "$(record own/own '.changed_by')" '"command"'
	is "$(record run '.changed_by')" null
	is "$(record listed '.changed_by')" '"other"'
	local times
	times=$(stat -c %y work/listed work/emptied)
	run -0 strata trace restore --before bundle || { echo "$output"; return 1; }
	grep -qF "skipped    $(realpath work)/made  (somebody else changed it, not the command)" <<<"$output"
	is "$(cat work/read work/asked work/made work/mine work/listed/new | tr '\n' ' ')" \
		'old theirs old theirs made mine new '
	[ ! -e work/gone ] && [ ! -e work/emptied/x ] && [ ! -e work/own ]
	is "$(stat -c %a work/mode)" 600
	is "$(stat -c %y work/listed work/emptied)" "$times"
	is "$(strata trace diff bundle | grep -c theirs)" 0
	strata trace show bundle | grep -qE '^\* r-------- +read$'
	# Nor are they done again.
	rm work/read work/made
	strata trace restore bundle
	[ ! -e work/read ] && [ ! -e work/made ]
	is "$(cat work/own/own)" own
}

@test "what others changed meanwhile is told apart, and not undone" {
	for ENGINE in notify ptrace; do somebody_else; done
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
	for ENGINE in notify ptrace; do
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
	for ENGINE in notify ptrace; do
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
