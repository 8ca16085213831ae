# trace: real programs are traced.  The bundle must have every change that they make, and no other.
load helpers
load tracing

setup() {
	strata_setup
	mkdir work
	# Use a short ignore file in place of the user's, so that it hides nothing in 'work'.
	export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	# The variables of the make that runs the tests must not reach a make that is traced.
	unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS
}

both() {
	local engine
	for engine in $(engines); do
		ENGINE=$engine
		rm -rf work
		mkdir work
		"$1"
	done
}

project() {
	mkdir work/src
	local i
	for i in 1 2 3 4 5 6; do
		printf '#include <stdio.h>\n#include "all.h"\nint f%s(void)\n{\n\treturn puts(NAME);\n}\n' $i >work/src/f$i.c
	done
	echo '#define NAME "all"' >work/src/all.h
	echo 'int main(void) { return 0; }' >work/src/main.c
	# shellcheck disable=SC2016 # for make
	printf 'OBJECTS := $(patsubst %%.c,%%.o,$(wildcard src/*.c))\nprogram: $(OBJECTS)\n\tgcc -o $@ $^\n' >work/Makefile
}

compile() {
	project
	witness make -s -j2
	is "$(record src/all.h '.operations | contains(["read"])')" true
	is "$(record program .before.exists)" false
	rm -rf work/src/*.o
}

@test "a compile with make -j2" {
	need make gcc
	both compile
}

clone() {
	git init -q work/a
	for i in 1 2 3 4 5; do echo $i >work/a/f$i; done
	git -C work/a add .
	git -C work/a -c user.name=x -c user.email=x@y commit -qm first
	echo dirty >>work/a/f2
	witness sh -c 'git clone -q a b && cd a && git gc -q && git checkout -q f2'
	is "$(manifest -r '.git_repositories[0].root')" "$(realpath work/a)"
}

@test "git clone of a local repository, git gc and git checkout" {
	need git
	both clone
}

python() {
	echo 'x = 5' >work/module.py
	witness python3 -c '
import sqlite3, sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = False
import module
db = sqlite3.connect("data.db")
db.execute("create table t (a)")
db.executemany("insert into t values (?)", [(i,) for i in range(1000)])
db.commit()
db.execute("delete from t where a > 500")
db.commit()
'
	is "$(record module.py '.operations | contains(["read"])')" true
}

@test "python with imports and a sqlite database" {
	need python3
	both python
}

npm_install() {
	mkdir work/p work/q
	echo '{"name": "p", "version": "1.0.0"}' >work/p/package.json
	echo 'module.exports = 1' >work/p/index.js
	(cd work/p && npm pack --silent >/dev/null && mv p-1.0.0.tgz ..)
	rm -r work/p
	echo '{"name": "q", "version": "1.0.0"}' >work/q/package.json
	witness sh -c 'cd q && npm install --silent --offline --no-audit --no-fund ../p-1.0.0.tgz'
	is "$(record q/node_modules/p/index.js .after.exists)" true
}

@test "npm install of a local tarball" {
	need npm
	both npm_install
}

archives() {
	mkdir -p work/d/x/y
	echo 1 >work/d/x/y/f
	ln -s f work/d/x/y/l
	ln work/d/x/y/f work/d/hard
	mkfifo work/d/pipe
	chmod 700 work/d/x
	witness sh -c 'tar cf a.tar d && mkdir e && tar xf a.tar -C e && rm -rf d && cp -a e f'
}

@test "tar in and out, rm -rf, cp -a" {
	both archives
}

static() {
	# shellcheck disable=SC2016 # for the other shell
	witness busybox sh -c 'echo a >a; busybox cp a b; busybox rm a; busybox mkdir q; busybox mv b q; busybox ln -s q l; echo z >l/z; busybox chmod 600 q/b'
}

@test "a static program" {
	need busybox
	both static
}

moves() {
	mkdir -p work/d/x/y
	echo 1 >work/d/x/y/f
	echo 2 >work/d/h
	witness sh -c 'mv d e; mv e/x/y z; echo more >>z/f; mkdir d; echo q >d/h; mv -T d e2; rm -rf e2 e; mkdir e; mv z/f e; rmdir z'
}

@test "directories that are moved, and changed at once" {
	both moves
}

way() {
	# A restore does not make a socket, so the time of its directory differs.
	[ "$WAY" != socket ] || WALK=--no-mtime
	(cd work && "$TOOLS/filework" prepare)
	witness "$TOOLS/filework" "$WAY"
}

@test "the less usual ways to use a file" {
	for WAY in $("$TOOLS/filework" list); do
		echo "# $WAY"
		both way
	done
}

@test "names that are no text" {
	names() {
		printf 'old' >work/$'old\351'
		trace sh -c "echo x >\$(printf 'a\\377b'); echo y >'new
line'; mv \$(printf 'old\\351') \$(printf 'n\\351w')"
	}
	both names
	is "$(manifest -r '.files[] | select(.path_bytes) | .path_bytes' | while read -r b; do base64 -d <<<"$b" | od -An -c | tail -n 1; done | wc -l)" 3
	is "$(manifest -r '.files[] | select(.path | endswith("aÿb")) | .path_bytes' | base64 -d)" "$(realpath work)/"$'a\377b'
	strata trace verify bundle
	strata trace restore bundle --before
	is "$(cat work/$'old\351')" old
	[ ! -e work/$'a\377b' ]
}

@test "a repository whose name is not UTF-8 has the contents that are clean in it" {
	need git
	git init -q work/$'rep\351'
	echo tracked >work/$'rep\351/f\351'
	git -C work/$'rep\351' add .
	git -C work/$'rep\351' -c user.name=a -c user.email=a@x commit -qm one
	trace rm $'rep\351/f\351'
	is "$(manifest -r '.git_repositories[], (.files[] | .git) | .root_bytes? // empty' | sort -u | base64 -d)" \
		"$(realpath work)/"$'rep\351'
	strata trace restore bundle --before
	is "$(cat work/$'rep\351/f\351')" tracked
}

@test "a file of several names that are not UTF-8 is one file again" {
	echo one >work/$'a\351'
	ln work/$'a\351' work/$'b\351'
	ln work/$'a\351' work/c
	trace rm $'a\351' $'b\351' c
	strata trace restore bundle --before
	is "$(stat -c %h work/$'a\351')" 3
	is "$(cat work/$'b\351')" one
}

@test "names that are all UTF-8 have no second form" {
	need git
	git init -q work/é
	trace sh -c 'echo "$0" >é/é; ln é/é é/b' é
	is "$(manifest -c '[.. | objects | keys[] | select(endswith("_bytes"))]')" '[]'
}

# -------------------------------------------------------------- what is read

@test "every file that strace shows being opened is in the bundle" {
	need strace gcc
	project
	trace make -s
	rm -f work/src/*.o work/program
	(cd work && traced strace -f -y -e trace=open,openat,execve -o "$BATS_TEST_TMPDIR/strace" make -s)
	# List the paths of opened descriptors, without ignored paths and without gcc's temporary files.
	sed -n 's/.* = [0-9]*<\(\/.*\)>$/\1/p' strace | sort -u |
		grep -Ev '^/(proc|dev|sys|usr|bin)(/|$)|/cc[A-Za-z0-9]{6}\.|/\.(cache|claude|codex|cursor)/' >opened
	[ -s opened ]
	manifest -r '.files[] | select(.operations - ["existence", "metadata"] != []) | .path' | sort -u >told
	comm -23 opened told >missing
	if [ "$(id -u)" != 0 ]; then
		while read -r path; do [ -w "$path" ] && echo "$path"; done <missing >mine || true
		mv mine missing
	fi
	[ ! -s missing ] || { cat missing; false; }
}

@test "a script's interpreter and a program's loader are told of" {
	cp "$(command -v busybox)" work/busybox
	printf '#!%s sh\necho hello\n' "$(realpath work)/busybox" >work/script
	chmod +x work/script
	is "$(trace ./script)" hello
	is "$(record busybox '.operations | contains(["execute"])')" true
	is "$(record script '.operations | contains(["execute"])')" true
	is "$(record busybox '.before.blob != null')" true
}

@test "links gone through are told of, and files by their true names" {
	mkdir work/real
	echo x >work/real/file
	ln -s real work/alias
	ln -s alias/file work/name
	trace cat name alias/../real/file >/dev/null
	is "$(record name '[.operations, .before.target]')" '[["read"],"alias/file"]'
	is "$(record alias .before.type)" '"symlink"'
	is "$(record real/file .operations)" '["read"]'
	is "$(record alias/file 1)" ""
}

@test "what a redirection opened is the command's" {
	echo in >work/in
	echo before >work/log
	(cd work && strata trace --snapshot-dir ../bundle -- sh -c 'cat; echo log >&2' <in >out 2>>log)
	is "$(cat work/out)" in
	is "$(record in .operations)" '["read"]'
	is "$(record out '[.operations, .after.size]')" '[["write"],3]'
	is "$(strata trace cat bundle before "$(realpath work)/log")" before
	is "$(strata trace cat bundle after "$(realpath work)/log")" "before
log"
}

# ------------------------------------------------------------------ contents

repository() {
	git init -q work
	echo clean >work/clean
	echo dirty >work/dirty
	printf '*.o\n' >work/.gitignore
	git -C work add .
	git -C work -c user.name=x -c user.email=x@y commit -qm first
	echo more >>work/dirty
	echo untracked >work/untracked
	echo ignored >work/ignored.o
}

@test "a clean tracked file that is only read has no blob; dirty, untracked and ignored ones have" {
	need git
	repository
	trace cat clean dirty untracked ignored.o >/dev/null
	is "$(record clean '[.before.blob, .git.tracked, .git.dirty, .git.ignored]')" '[null,true,false,false]'
	is "$(record dirty '[.before.blob != null, .git.tracked, .git.dirty]')" '[true,true,true]'
	is "$(record untracked '[.before.blob != null, .git.tracked, .git.ignored]')" '[true,false,false]'
	is "$(record ignored.o '[.before.blob != null, .git.tracked, .git.ignored]')" '[true,false,true]'
	is "$(record clean .git.relative_path)" '"clean"'
	is "$(record clean .git.head)" "\"$(git -C work rev-parse HEAD)\""
	is "$(manifest '[.files[] | select(.path | contains("/.git/"))] | length')" 0
}

@test "a clean tracked file that is written has its after-blob, and git has what it was" {
	need git
	repository
	trace sh -c 'echo new >clean'
	is "$(record clean '[.before.blob, .after.blob]')" "[null,\"after:$(realpath work)/clean\"]"
	strata trace restore bundle --before
	is "$(cat work/clean)" clean
}

@test "when the repository goes, what only it had is in the bundle" {
	need git
	repository
	trace sh -c 'echo new >clean; rm -rf .git'
	is "$(record clean .before.blob)" "\"before:$(realpath work)/clean\""
	strata trace restore bundle --before
	is "$(cat work/clean)" clean
}

@test "no program that a repository names is run" {
	need git
	repository
	printf '#!/bin/sh\ntouch %s/ran\ncat\n' "$BATS_TEST_TMPDIR" >evil
	chmod +x evil
	git -C work config core.fsmonitor "$PWD/evil"
	git -C work config filter.evil.clean "$PWD/evil"
	git -C work config filter.evil.smudge "$PWD/evil"
	echo '* filter=evil' >work/.gitattributes
	trace sh -c 'cat clean dirty >/dev/null; echo new >clean'
	[ ! -e ran ]
}

@test "a tombstone for what is gone, and no blob for what came and went" {
	echo old >work/old
	trace sh -c 'rm old; echo tmp >tmp; rm tmp'
	is "$(record old '[.operations - ["existence"], .after]')" '[["delete"],{"exists":false,"tombstone":true}]'
	is "$(record tmp '[.before, .after, .operations - ["existence"]]')" '[{"exists":false},{"exists":false,"tombstone":true},["write","delete","create"]]'
	is "$(strata trace cat bundle before "$(realpath work)/old")" old
}

@test "no blobs.parquet when nothing was saved" {
	cat >ignore.json <<<'["/"]'
	(cd work && strata trace --ignore ../ignore.json --snapshot-dir ../bundle -- true)
	is "$(ls bundle)" manifest.json
	is "$(manifest -c .files)" '[]'
}

@test "zstd on request" {
	echo text >work/text
	(cd work && strata trace --compression zstd --output ../bundle -- cat text)
	is "$(strata trace cat bundle before "$(realpath work)/text")" text
}

@test "a file too large for one row takes several" {
	[ "$(df --output=avail -B1M . | tail -n 1)" -gt 4000 ] || unavailable "no room for large files"
	trace truncate -s 2200M big
	is "$(record big '[.after.size, .after.blob_parts]')" '[2306867200,3]'
	rm work/big
}

@test "a file system that the command itself serves hangs nobody" {
	need_root
	need bindfs
	mkdir work/src work/mnt
	echo hi >work/src/f
	is "$(trace timeout 30 sh -c 'bindfs src mnt && cat mnt/f; echo new >mnt/g; umount mnt')" hi
	manifest -r '.incomplete_reasons[]' | grep -q mounted
	is "$(record src/g .after.exists)" true
}

# --------------------------------------------------------------- transparency

@test "exit statuses and signals are the command's" {
	run -0 trace true
	run -7 trace sh -c 'exit 7'
	run -143 trace sh -c 'kill -TERM $$'
	is "$(manifest .exit_status)" 143
	run -137 trace sh -c 'kill -KILL $$'
	ENGINE=ptrace
	run -7 trace sh -c 'exit 7'
	run -134 trace sh -c 'ulimit -c 0; kill -ABRT $$'
}

@test "standard input, output and error are the command's" {
	is "$(trace sh -c 'cat; echo e >&2' <<<input 2>errors)" input
	is "$(cat errors)" e
	is "$(head -c 300000 /dev/zero | trace wc -c)" 300000
}

@test "each process with its command line and how it ended" {
	trace sh -c 'true a b; sh -c "exit 3"; sh -c "kill -9 \$\$"; :' 2>/dev/null
	is "$(manifest -c '.processes[0] | [.argv[0], .exit_status]')" '["sh",0]'
	is "$(manifest -c '[.processes[] | select(.argv == ["sh", "-c", "exit 3"]) | .exit_status]')" '[3]'
	is "$(manifest '.processes as $p | [$p[1:][] | select(.ppid == $p[0].pid)] | length')" 2
}

# A traced command can be stopped, continued and interrupted as if it were not traced.  In one test, the
# shell runs strata as a job.  In the other test, the traced shell runs the job.  The terminal also shows
# the typed text, so an expected text must not be part of a typed text.
on_a_terminal() { # STATUS COMMAND..., with the script on standard input
	run "-$1" "$BATS_TEST_DIRNAME/../tools/terminal.py" "${@:2}"
}

# Print a script: the job begins, is stopped, is continued, reads a line, and is interrupted.
through_its_life() {
	cat <<-'END'
		expect begun
		type \x1a
		expect Stopped
		expect ready>
		type fg\n
		type words\n
		expect got words
		type \x03
		expect ready>
	END
}

jobs_on_a_terminal() {
	export STRATA ENGINE PS1='ready> ' JOB='echo begun; read x; echo got $x; sleep 100'
	on_a_terminal 7 "$STRATA" trace --engine "$ENGINE" --snapshot-dir bundle -- bash --norc --noprofile -i < <(
		printf '%s\n' 'expect ready>' 'type sh -c "$JOB"\n'
		through_its_life
		cat <<-'END'
			type echo sta""tus=$?\n
			expect status=130
			type sh -c 'echo beg""un >&2; cat' >typed\n
			expect begun
			type words\n\x04
			expect ready>
			type exit 7\n
		END
	)
	is "$(cat typed)" words
	is "$(manifest -c '.complete, .exit_status')" $'true\n7'
	is "$(manifest -r '.files[].path | select(endswith("/typed"))')" "$PWD/typed"
	rm -rf bundle typed
	on_a_terminal 130 bash --norc --noprofile -i < <(
		printf '%s\n' 'expect ready>' 'type $STRATA trace --engine $ENGINE --snapshot-dir bundle -- sh -c "$JOB"\n'
		through_its_life
		printf '%s\n' 'type exit $?\n'
	)
	is "$(manifest .exit_status)" 130
	rm -rf bundle
}

@test "jobs on a terminal" {
	need python3
	for ENGINE in $(engines); do
		jobs_on_a_terminal
	done
}

@test "a signal sent to strata reaches the command" {
	cd work
	"$STRATA" trace --snapshot-dir ../bundle -- \
		sh -c 'trap "echo got it; exit 5" TERM; touch ready; for i in $(seq 200); do sleep 0.05; done' >../out.txt &
	until [ -e ready ]; do sleep 0.05; done
	kill -TERM "$!"
	status=0
	wait "$!" || status=$?
	cd ..
	is "$(cat out.txt)" "got it"
	is "$status" 5
}

@test "a debugger's calls work under notification" {
	need strace
	echo x >work/x
	ENGINE=notify
	trace strace -o log cat x
	grep -q '"x"' work/log
	is "$(record x .operations)" '["read"]'
}

@test "a trace within a trace" {
	echo x >work/x
	trace "$STRATA" trace --snapshot-dir inner -- cat x
	is "$(jq -r .engine work/inner/manifest.json)" ptrace
	is "$(jq -c --arg p "$(realpath work)/x" '.files[] | select(.path == $p) | .operations - ["existence"]' work/inner/manifest.json)" '["read"]'
	is "$(record x '.operations | contains(["read"])')" true
}

@test "io_uring is refused" {
	is "$(trace "$TOOLS/filework" io-uring)" refused
}

@test "32-bit calls and handles are told of as not understood" {
	[ "$(uname -m)" = x86_64 ] || skip "not x86-64"
	for ENGINE in $(engines); do
		rm -rf work
		mkdir work
		(cd work && "$TOOLS/filework" prepare)
		trace "$TOOLS/filework" int80
		[[ $(manifest -r '.incomplete_reasons[0]') == *32-bit* ]]
		is "$(manifest '[.files[] | select(.path | test("/work/looks/[0-9]+$")) | select(.before.exists)] | length')" 60
		is "$(manifest -r '.files[].path | select(test("/t?here$"))' | sed "s|^$(realpath work)/||")" $'here\nlooks/there'
	done
}

# The saver may still be reading the program when the trace ends.
@test "a command that cannot be run, and is large" {
	head -c 100000000 /dev/zero >work/large
	for ENGINE in $(engines); do
		status=0
		trace ./large 2>why </dev/null || status=$?
		is "$status" 126
		grep -q '[Pp]ermission denied' why
		[ ! -e bundle ]
	done
}

# The record of each name lists all other names.  This text is too long to be kept in memory.
@test "a file with hundreds of long names" {
	local deep i
	deep=work/$(printf '%0200d/%0200d/%0200d' 1 2 3)
	mkdir -p "$deep"
	echo one >"$deep/0"
	for i in {1..600}; do
		echo "$deep/0 $deep/$i"
	done | xargs -n 2 ln
	([ -n "${SANITIZED:-}" ] || ulimit -v 400000 && trace ls -lR . >/dev/null)
	is "$(grep -c '"nlink":601,' bundle/manifest.json)" 601
	tail -c 6 bundle/manifest.json | tr -d '\n ' | grep -qx ']}'
}

@test "a set-user-ID program is told of" {
	need_root
	cp /bin/true work/suid
	chown 12345 work/suid
	chmod 4755 work/suid
	trace ./suid
	[[ $(manifest -r '.incomplete_reasons[0]') == *"set-user-ID"* ]]
}

@test "files of others that cannot be written are not told of" {
	need_root
	need setpriv
	# Make a directory that an ordinary user can reach.
	outside=$(mktemp -d "${TMPDIR:-/tmp}/strata-trace.XXXXXX")
	chmod 777 "$outside"
	echo root >"$outside/root"
	echo open >"$outside/open"
	chmod 666 "$outside/open"
	chmod a+x "$BATS_TEST_TMPDIR" || true
	(cd "$outside" && setpriv --reuid 12345 --regid 12345 --clear-groups \
		env -u XDG_CONFIG_HOME HOME=/nowhere "$STRATA" trace --snapshot-dir bundle -- cat root open)
	rm -rf work bundle
	mv "$outside" work
	mv work/bundle .
	is "$(manifest -c --arg p "$outside/root" '.files[] | select(.path == $p)')" ""
	is "$(manifest -c --arg p "$outside/open" '.files[] | select(.path == $p) | .operations')" '["read"]'
}

# A file has several names, and the shell writes to it through a descriptor whose name has been removed.
@test "a file with several names is put back under all that were seen, and others are asked after" {
	echo old >work/a
	witness sh -c 'ln a b; echo more >>b'
	rm -rf work/*
	echo old >work/a
	ln work/a work/b
	witness sh -c 'test -e a; echo more >>b'
	rm -rf work/*
	echo old >work/a
	ln work/a work/b
	trace sh -c 'exec 3<>a; rm a; echo changed >&3'
	[[ $(manifest -r '.incomplete_reasons[0]') == *"names that were not seen"* ]]
	rm -rf work/*
	echo old >work/a
	ln work/a work/b
	trace sh -c 'mv a c; echo more >>c'
	[[ $(manifest -r '.incomplete_reasons[0]') == *"names that were not seen"* ]]
}

# A second name of a file is used late, or is only read.  Its state before the command is that of the
# file.
another_name() { # COMMAND
	rm -rf work
	mkdir work
	echo old >work/a
	ln work/a work/b
	witness sh -c "$1"
}

names_seen_late() {
	another_name 'echo more >>a; stat b >/dev/null'
	another_name 'echo more >>a; cat b >/dev/null'
	another_name 'rm a; chmod 600 b'
	another_name 'chmod 600 a; echo more >>b'
	need python3
	another_name 'python3 -c "import os; f = os.open(\"a\", os.O_RDWR); os.open(\"b\", 0); os.pwrite(f, b\"new\", 0)"'
	another_name 'exec 3>>a; rm a; cat b >/dev/null; echo more >&3'
}

@test "a file with several names that are seen late" {
	for ENGINE in $(engines); do
		names_seen_late
	done
	# The file is inherited, and its name is removed before the command starts.
	rm -rf work
	mkdir work
	echo old >work/a
	ln work/a work/b
	exec 4>>work/a
	rm work/a
	trace sh -c 'stat b >/dev/null; echo more >&4'
	exec 4>&-
	is "$(record b .before.size)" 4
}

@test "attributes by a new name, and with names that are no text" {
	need python3
	need setfattr
	echo one >work/a
	setfattr -n user.try -v x work/a 2>/dev/null || unavailable "no extended attributes here"
	witness python3 -c 'import os; os.link("a", "c"); os.setxattr("c", "user.p", b"v")'
	rm -rf work/*
	echo one >work/a
	witness python3 -c 'import os; os.setxattr("a", b"user.\xff", b"v"); os.chmod("a", 0o600)'
	rm -rf work/*
	echo one >work/a
	(cd work && python3 -c 'import os; os.setxattr("a", b"user.\xff", b"v")')
	witness python3 -c 'import os; os.setxattr("a", b"user.\xff", b"w"); os.setxattr("a", b"user.plain", b"x")'
}

@test "attributes that are set again as they were are no change" {
	need setfattr
	echo one >work/a
	setfattr -n user.a -v 1 work/a 2>/dev/null || unavailable "no extended attributes here"
	setfattr -n user.b -v 2 work/a
	trace sh -c 'setfattr -x user.a a; setfattr -n user.a -v 1 a'
	is "$(record a '.after.xattrs | keys')" '["user.a","user.b"]'
	is "$(strata trace diff bundle a)" ""
}

@test "times that are set, and nothing else" {
	echo one >work/a
	echo two >work/b
	witness sh -c 'touch -d 2001-01-01 a; cat b >/dev/null; touch -d 2002-02-02 b'
}

@test "what was asked for its true name and then read has its content" {
	echo one >work/a
	trace sh -c 'realpath a >/dev/null; cat a >/dev/null'
	is "$("$STRATA" trace cat bundle before "$(realpath work)/a")" one
}

@test "a directory that comes out of an ignored one is told of with all that is in it" {
	mkdir -p work/hidden/d
	echo one >work/hidden/d/f
	echo "[\"$(realpath work)/hidden\"]" >ignore.json
	(cd work && "$STRATA" trace --ignore ../ignore.json --snapshot-dir ../bundle -- mv hidden/d out)
	is "$(record out/f '[.before.exists, .after.exists]')" '[false,true]'
	"$STRATA" trace restore bundle --before
	[ ! -e work/out ]
}

@test "what could not be seen at first is not taken for missing" {
	if [ "$(id -u)" = 0 ]; then
		need setpriv
		as="setpriv --reuid 12345 --regid 12345 --clear-groups env -u XDG_CONFIG_HOME HOME=/nowhere"
	fi
	outside=$(mktemp -d "${TMPDIR:-/tmp}/strata-trace.XXXXXX")
	chmod 777 "$outside"
	cd "$outside"
	$as sh -c 'umask 077; mkdir d; echo secret >d/f; chmod 000 d'
	$as "$STRATA" trace --snapshot-dir bundle -- sh -c 'test -e d/f; chmod 700 d; echo x >d/f'
	run -0 $as "$STRATA" trace restore bundle --before
	is "$(stat -c %a d)" 0
	$as chmod 700 d
	is "$($as cat d/f)" secret
	cd "$BATS_TEST_TMPDIR"
	rm -rf "$outside"
}

@test "a status is the command's also where SIGCHLD is ignored, and a device comes back" {
	need_root
	run -5 env --ignore-signal=CHLD "$STRATA" trace --snapshot-dir bundle -- sh -c 'exit 5'
	rm -rf bundle
	trace mknod null c 1 3
	rm work/null
	strata trace restore bundle
	is "$(stat -c %t:%T work/null)" 1:3
}

@test "ptrace waits for nobody else's children" {
	run -0 timeout 5 sh -c 'sleep 7 >/dev/null 2>&1 3>&- & exec "$0" trace --engine ptrace --snapshot-dir bundle -- true' "$STRATA"
}

@test "when strata is killed its command's processes work on" {
	cd work
	"$STRATA" trace --snapshot-dir ../bundle -- \
		sh -c 'sh -c "touch ready; sleep 1; touch later || touch broken" & wait' &
	until [ -e ready ]; do sleep 0.05; done
	kill -KILL "$!"
	appears later
	[ ! -e ../bundle ]
}

@test "when strata is killed a call that waits for it goes on, too" {
	cd work
	truncate -s 3G large # long enough to be waited for
	"$STRATA" trace --snapshot-dir ../bundle -- \
		sh -c 'sh -c "touch ready; : >>large; touch later" & wait' &
	until [ -e ready ]; do sleep 0.02; done
	sleep 0.2
	[ ! -e later ]
	kill -KILL "$!"
	appears later
}

@test "when strata is killed what it traced by ptrace ends" {
	cd work
	"$STRATA" trace --engine ptrace --snapshot-dir ../bundle -- \
		sh -c 'sh -c "echo \$\$ >ready; sleep 1; touch later" & wait' &
	until [ -s ready ]; do sleep 0.05; done
	kill -KILL "$!"
	sleep 1.5
	[ ! -e later ]
	# The process that has adopted the child may not have reaped it yet.
	! grep '^State:' "/proc/$(cat ready)/status" 2>/dev/null | grep -v Z
}

@test "told to end after the command has ended, strata by ptrace ends what is left" {
	cd work
	"$STRATA" trace --engine ptrace --snapshot-dir ../bundle -- \
		sh -c 'sh -c "touch ready; sleep 30; touch later" & exit 4' &
	until [ -e ready ]; do sleep 0.05; done
	sleep 0.3
	kill -TERM "$!"
	status=0
	wait "$!" || status=$?
	is "$status" 4
	cd ..
	[[ $(manifest -r '.incomplete_reasons[0]') == *"told to end"*ptrace* ]]
	[ ! -e work/later ]
}

@test "a thread that executes is not waited for by its old number" {
	cd work
	# The child of the shell becomes a child of strata, and strata must ignore it.
	traced sh -c 'sleep 30 & echo $! >../other; exec "$@"' sh \
		timeout 20 "$STRATA" trace --engine ptrace --snapshot-dir ../bundle -- "$TOOLS/filework" exec-from-thread
	kill "$(cat ../other)"
	[ -e exec-from-thread ]
}

@test "a program that is stopped and continued by another goes on" {
	local engine
	for engine in $(engines); do
		# shellcheck disable=SC2016 # for the shell that stops
		timeout 20 "$STRATA" trace --engine $engine --snapshot-dir $engine -- \
			sh -c '(sleep 0.5; kill -CONT $$) & kill -STOP $$; wait; echo resumed >"$1"' sh after-$engine
		[ -s after-$engine ]
	done
}

replaced_by_a_link() {
	mkdir -p work/d work/other
	echo inner >work/d/f
	echo outer >work/other/f
	walk work --content >before
	trace sh -c "$1"
	is "$(manifest .complete)" true
	run -0 strata trace restore --before bundle
	walk work --content | diff -u before -
	rm -rf work
	mkdir work
}

@test "what was in a directory that is a link now is not what the link leads to" {
	replaced_by_a_link 'mv d e; ln -s e d'
	replaced_by_a_link 'rm -r d; ln -s other d'
	replaced_by_a_link 'ln -s other l; mv d x; mv l d; cat d/f >/dev/null'
	# Both names are exchanged at once, so another directory is behind the link afterwards.
	replaced_by_a_link 'ln -s other l; exec python3 -c "
import ctypes
here, exchange = -100, 2
raise SystemExit(ctypes.CDLL(None).renameat2(here, b\"d\", here, b\"l\", exchange))"'
}

@test "a file changed by a name that is not seen any more has others" {
	echo aa >work/a
	ln work/a work/b
	trace sh -c 'ln a n; echo x >>n; mv n c'
	[[ $(manifest -r '.incomplete_reasons[]') == *"names that were not seen"* ]]
	trace python3 -c '
import os
s = os.stat("a")
fd = os.open("a", os.O_WRONLY)
os.write(fd, b"ZZ")
os.close(fd)
os.utime("a", ns=(1, s.st_mtime_ns))'
	[[ $(manifest -r '.incomplete_reasons[]') == *"names that were not seen"* ]]
}

@test "a file written again within a tick of the clock is told as it is then" {
	need_root # for ramfs, whose times are those of the last tick
	mount -t ramfs none work
	mkfifo work/ask work/answer
	cat >outsider.py <<-'END'
		with open("work/ask") as ask, open("work/answer", "w") as answer:
		    for line in ask:
		        open("work/" + line.strip(), "w").write("A")
		        print(file=answer, flush=True)
	END
	python3 outsider.py &
	trace python3 -c '
import os
with open("ask", "w") as ask, open("answer") as answer:
    for i in range(20):
        print(i, file=ask, flush=True)
        answer.readline()
        fd = os.open(str(i), os.O_WRONLY)
        os.write(fd, b"B")
        os.close(fd)'
	wait
	umount work
	is "$(manifest -c --arg work "$PWD/work/" --arg b "$(printf B | sha256sum | cut -d' ' -f1)" \
		'[.files[] | select(.path[:($work | length)] == $work and .after.type == "file") | .after.sha256 == $b] | [length, all]')" '[20,true]'
}

@test "times that were set are put back, though no content was kept" {
	echo 1 >work/f
	walk work --content >before
	trace touch -c -d 2001-01-01 f
	is "$(manifest .complete)" true
	run -0 strata trace restore --before bundle
	walk work --content | diff -u before -
	run -0 strata trace restore bundle
	is "$(stat -c %y work/f | cut -d' ' -f1)" 2001-01-01
}

@test "a tracked file of two names, written by both, comes back" {
	git -c init.defaultBranch=main init -q work
	echo aa >work/a
	ln work/a work/b
	git -C work add .
	git -C work -c user.name=n -c user.email=e commit -q -m all
	sleep 1.1 # else git distrusts the times
	git -C work status >/dev/null
	walk work --content | grep -v '^\.git' >before
	trace sh -c 'echo x >>a; echo y >>b'
	is "$(manifest .complete)" true
	run -0 strata trace restore --before bundle
	walk work --content | grep -v '^\.git' | diff -u before -
}

@test "pipes and links of two names are what they were under both" {
	mkfifo work/a
	ln work/a work/b
	ln -s x work/s
	ln work/s work/t
	walk work --content >before
	trace python3 -c 'import os; os.chmod("a", 0o600); os.stat("b"); os.utime("s", (1, 1), follow_symlinks=False); os.lstat("t")'
	is "$(manifest .complete)" true
	run -0 strata trace restore --before bundle
	walk work --content | diff -u before -
	trace rm a b s t
	run -0 strata trace restore --before bundle
	walk work --content | diff -u before -
	is "$(stat -c %h work/a work/t | paste -sd' ')" "2 2"
}

@test "of a long command line the beginning is told, and that it is one" {
	local long
	long=$(printf '%05000d' 0)
	trace sh -c '/bin/echo $(seq 6000) >/dev/null; /bin/echo a '"$long"' z >/dev/null; true'
	is "$(manifest -c '.processes[] | select(.argv[0] == "/bin/echo" and .argv[1] == "1") | [(.argv | length) > 4000, .argv_cut]')" '[true,true]'
	is "$(manifest -c '.processes[] | select(.argv[0] == "/bin/echo" and .argv[1] == "a") | [.argv, .argv_cut]')" '[["/bin/echo","a"],true]'
}

@test "a time that no manifest can tell is not put back as another" {
	touch -d 2400-01-01 work/far
	[ "$(stat -c %Y work/far)" -gt 13000000000 ] || skip "this file system has no such times"
	cd work
	trace rm far
	cd ..
	[[ $(manifest -r '.incomplete_reasons[]') == *far*2262* ]]
	run -0 strata trace restore --before bundle
	[ "$(stat -c %Y work/far)" -gt 1700000000 ]
	[ "$(stat -c %Y work/far)" -lt 9000000000 ] # now
}

@test "told to end after the command has ended, strata leaves its daemon alone" {
	cd work
	"$STRATA" trace --snapshot-dir ../bundle -- sh -c 'sh -c "touch ready; sleep 3; touch later" & exit 4' &
	until [ -e ready ]; do sleep 0.05; done
	sleep 0.3
	kill -TERM "$!"
	status=0
	wait "$!" || status=$?
	is "$status" 4
	[ ! -e later ]
	cd ..
	[[ $(manifest -r '.incomplete_reasons[0]') == *"told to end"* ]]
	appears work/later
}

# ---------------------------------------------------------------- bad input

@test "a directory that waits under the temporary name is not used" {
	run -0 sh -c 'mkdir -m 777 .b.strata-$$-0; touch .b.strata-$$-0/blobs.parquet; echo $$ >pid; exec "$@"' sh \
		"$STRATA" trace --snapshot-dir b -- cp /etc/passwd .
	is "$(stat -c %a b)" 700
	is "$(ls -A ".b.strata-$(cat pid)-0")" blobs.parquet
	run -0 strata trace verify b
}

@test "nothing to run, no place to put it" {
	run -2 --separate-stderr strata trace -- true
	[[ $stderr == *--snapshot-dir* ]]
	run -2 --separate-stderr strata trace --snapshot-dir b
	[[ $stderr == *"no command"* ]]
	run -2 --separate-stderr strata trace --engine x
	run -125 --separate-stderr strata trace --engine x --snapshot-dir b -- true
	run -125 --separate-stderr strata trace --snapshot-dir no/such/b -- true
	run -127 --separate-stderr strata trace --snapshot-dir b -- no-such-command
	[[ $stderr == *no-such-command* ]]
	run -126 --separate-stderr strata trace --snapshot-dir b -- /etc/passwd
	[ ! -e b ]
	is "$(find . -name '.b*')" ""
}

@test "an output directory that is not empty is refused; an empty one is taken" {
	mkdir b
	run -0 strata trace --snapshot-dir b -- true
	run -125 --separate-stderr strata trace --snapshot-dir b -- touch ran
	[[ $stderr == *"not empty"* ]]
	[ ! -e ran ]
}

@test "an ignore file that is no array of strings is refused before anything runs" {
	for text in '{}' '[1]' '"/usr"' 'nonsense' '["relative"]' ''; do
		printf '%s' "$text" >ignore.json
		run -125 --separate-stderr strata trace --ignore ignore.json --snapshot-dir b -- touch ran
		[[ $stderr == *ignore.json* ]]
	done
	mkdir -p config/strata
	echo '{}' >config/strata/ignore.json
	run -125 --separate-stderr strata trace --snapshot-dir b -- touch ran
	run -125 --separate-stderr strata trace --ignore no-such-file --snapshot-dir b -- touch ran
	[ ! -e ran ]
	[ ! -e b ]
}

@test "an ignore file is made with the defaults, and heeded" {
	trace true
	is "$(jq -c . config/strata/ignore.json)" '["$HOME/.cache","$HOME/.claude","$HOME/.codex","$HOME/.cursor","$XDG_CONFIG_HOME/strata/ignore.json","/proc","/dev","/sys","/usr","/bin"]'
	mkdir -p home/.cache work/skip/below
	jq -c --arg d "$(realpath work)/skip" '. + [$d]' config/strata/ignore.json >i && mv i config/strata/ignore.json
	trace sh -c 'echo x >skip/below/x; echo x >~/.cache/x; cat ../config/strata/ignore.json >/dev/null; echo y >y'
	is "$(manifest '[.files[] | select(.path | test("skip|/\\.cache|ignore.json"))] | length')" 0
	is "$(record y '.operations | contains(["write"])')" true
}

# New names go through the backlog.  Later calls must not be examined before them.
@test "names that mean something else a moment later" {
	mkdir -p work/many work/moved work/here work/there
	seq -f 'work/many/%g' 300 | xargs touch
	echo one >work/here/name
	echo two >work/there/name
	echo three >work/moved/name
	echo kept | tee work/reopened work/reopened-1 work/reopened-2 work/reopened-3 >/dev/null
	echo not >work/not-read
	echo old >work/changed
	cat >work/names.py <<-'END'
		import os
		names = [f"many/{i}" for i in range(1, 301)]
		def storm():
		    for _ in range(40):
		        os.stat(names.pop())
		storm()
		path = os.open("reopened", os.O_PATH)
		os.close(os.open(f"/proc/self/fd/{path}", os.O_RDONLY))
		os.close(path)
		assert os.open("not-read", os.O_PATH) == path
		storm()
		for number, way in enumerate(("//dev/fd", "/tmp/../dev/fd", "/./proc/self/fd"), 1):
		    another = os.open(f"reopened-{number}", os.O_PATH)
		    os.close(os.open(f"{way}/{another}", os.O_RDONLY))
		    os.close(another)
		    assert os.open("not-read", os.O_PATH) == another
		    os.close(another)
		storm()
		directory = os.open("here", os.O_RDONLY)
		os.stat("name", dir_fd=directory)
		os.close(directory)
		assert os.open("there", os.O_RDONLY) == directory
		storm()
		os.chdir("there")
		os.access("nothing", os.F_OK)
		os.chdir("..")
		storm()
		os.stat("moved/name")
		os.rename("moved", "elsewhere")
		os.mkdir("moved")
		storm()
		os.stat("changed")
		with open("changed", "w") as file:
		    file.write("new and longer")
		storm()
	END
	for ENGINE in $(engines); do
		trace python3 names.py
		is "$(manifest .complete)" true
		for name in reopened reopened-{1..3}; do
			is "$(record $name '.operations | contains(["read"])')" true
			is "$(record $name '.before.blob | type')" '"string"'
		done
		is "$(record not-read '.operations')" '["existence"]'
		is "$(record here/name '.operations')" '["existence"]'
		is "$(record there/name .)" ""
		is "$(record there/nothing '.before.exists')" false
		is "$(record nothing .)" ""
		is "$(record moved/name '[.before.exists, .after.exists]')" '[true,false]'
		is "$(record elsewhere/name '[.before.exists, .after.exists]')" '[false,true]'
		is "$(record changed '[.before.size, .after.size]')" '[4,14]'
		rm -r work/moved
		mv work/elsewhere work/moved
		echo old >work/changed
	done
}

@test "a link into /proc among many new names: found, or said to be late" {
	mkdir work/many
	seq -f 'work/many/%g' 100 | xargs touch
	echo kept >work/reopened
	ln -s /proc/self/fd work/fds
	cat >work/links.py <<-'END'
		import os
		for i in range(1, 101):
		    os.stat(f"many/{i}")
		path = os.open("reopened", os.O_PATH)
		os.close(os.open(f"fds/{path}", os.O_RDONLY))
		os.close(path)
	END
	trace python3 links.py
	[ "$(record reopened '.operations | contains(["read"])')" = true ] ||
		[[ "$(manifest -c .incomplete_reasons)" == *"leads into /proc"* ]]
}

@test "a file that was asked about, changed by another name and then read" {
	for ENGINE in $(engines); do
		echo before >work/a
		ln -f work/a work/b
		trace sh -c '[ -e a ]; echo longer than before >b; cat a >read'
		is "$(manifest .complete)" true
		is "$(strata trace cat bundle before a)" before
		strata trace restore --before bundle
		is "$(cat work/a work/b)" "before
before"
		trace sh -c 'chmod 600 b; cat a >/dev/null'
		is "$(manifest .complete)" true
		is "$(strata trace cat bundle before a)" before
		rm -f work/read
	done
}

@test "a name that is too long is one that is not there" {
	trace sh -c '[ ! -e "$(printf "%0300d" 1)" ]'
	is "$(manifest .complete)" true
}

@test "a disk that fails in the end: what is there is whole, and says what is not" {
	local at lost=0 none=0
	for at in {1..7}; do
		echo before >work/file
		LD_PRELOAD=$TOOLS/faultlib.so FAULT_PROGRAM=strata FAULT_CALLS=fsync FAULT_AT=$at FAULT_MODE=EIO \
			run -3 --separate-stderr strata trace --snapshot-dir "out$at" -- \
			sh -c 'echo after >work/file; exit 3'
		if [ ! -e "out$at" ]; then
			[[ $stderr == *strata:*trace* ]]
			none=$((none + 1))
			continue
		fi
		strata trace verify "out$at"
		[ "$(jq .complete "out$at/manifest.json")" = false ] || continue
		[[ $stderr == *"contents could not be saved"* ]]
		[ ! -e "out$at/blobs.parquet" ]
		is "$(jq '[.files[] | .before, .after | select(.blob)] | length' "out$at/manifest.json")" 0
		lost=$((lost + 1))
	done
	is "$lost" 2      # the manifest at first, the contents
	[ "$none" -ge 1 ] # the directory
}

@test "a full disk while recording: the command finishes, the bundle says so" {
	need_root
	mkdir small
	mount -t tmpfs -o size=3m strata-trace-test small
	head -c 2000000 /dev/urandom >work/one
	head -c 4000000 /dev/urandom >work/two
	run -3 --separate-stderr strata trace --snapshot-dir small/b -- sh -c 'cat work/one work/two | wc -c; exit 3'
	complete=$(jq .complete small/b/manifest.json || echo none)
	umount small
	is "$output" 6000000
	[[ $stderr == *strata:*trace* ]]
	is "$complete" false
}

# --- the engine bpf

@test "auto takes bpf where doctor says that it works" {
	local want=notify
	[ -n "$(without_bpf)" ] || want=bpf
	[ "$want" = bpf ] || [ "$(id -u)" != 0 ] || need_bpf
	trace true
	is "$(manifest -r .engine)" "$want"
}

@test "without the right to it the engine bpf says so" {
	local without=(env)
	[ "$(id -u)" != 0 ] || without=(setpriv --bounding-set "-sys_admin,-bpf,-perfmon")
	run -125 --separate-stderr "${without[@]}" "$STRATA" trace --engine bpf --snapshot-dir b -- true
	[[ $stderr == *"engine bpf: "*"not permitted"* || $stderr == *"engine bpf: "*"pid namespace"* ]]
	"${without[@]}" "$STRATA" trace --snapshot-dir bundle -- true
	is "$(manifest -r .engine)" notify
}

# The ring is too small for this path, at any speed of reading.
@test "a call that was lost makes the bundle incomplete" {
	need_bpf
	local long
	long=$(printf '/%0250d/%0250d/%0250d' 1 2 3)
	ENGINE=bpf
	trace test -e "$long" || true
	is "$(manifest .complete)" true
	is "$(manifest --arg path "$long" '[.files[] | select(.path == $path)] | length')" 1
	STRATA_TRACE_RING=4096 trace test -e "$long" || true
	is "$(manifest .complete)" false
	[[ $(manifest -r '.incomplete_reasons[0]') == *" calls were not seen: "* ]]
}

# /dev/fd/N, /dev/stdin and /proc/self/exe are examined after the program has gone on.
@test "paths that lead through /proc, while they pass" {
	need_bpf
	ENGINE=bpf
	echo x >work/x
	echo y >work/y
	trace bash -c 'cat <(echo a) /dev/stdin; readlink /proc/self/exe; cat /dev/fd/3; cat /proc/self/cwd/y' <work/x 3<work/x >said
	grep -q '^y$' said
	is "$(manifest -c '[.complete, .incomplete_reasons]')" '[true,[]]'
	is "$(record x '.operations | contains(["read"])')" true
	is "$(record y '.operations | contains(["read"])')" true
}

# By chance the process may be gone before strata can look up its working directory.
@test "what a process asked about that was killed is told, or that it is not" {
	need_bpf
	ENGINE=bpf
	mkdir work/d
	echo x >work/d/x
	trace sh -c 'python3 -c "import os; os.chdir(\"d\"); os.stat(\"x\"); os.kill(os.getpid(), 9)"; :'
	[ "$(manifest .complete)" = false ] || is "$(record d/x .operations)" '["existence"]'
	[ "$(manifest .complete)" = true ] || [[ $(manifest -r '.incomplete_reasons[0]') == *" was gone when "* ]]
}

# One process removes files right after other processes have looked at them.  Each look must be in the
# bundle, with the state of the file.
# shellcheck disable=SC2016 # expanded by sh
@test "what passes is looked at before it is changed" {
	need_bpf
	ENGINE=bpf
	mkdir work/d
	local i
	for i in {1..300}; do echo "$i" >work/d/$i; done
	trace sh -c 'for i in d/*; do read -r _ <"$i"; [ -e "$i" ]; done; rm d/*'
	is "$(manifest -c '[.complete, .incomplete_reasons]')" '[true,[]]'
	is "$(manifest '[.files[] | select(.path | test("/work/d/[0-9]+$")) | select(.before.exists and .before.blob and (.operations | contains(["read", "delete"])))] | length')" 300
}

@test "what is renamed while it is opened is told, or that it is not" {
	need_bpf
	ENGINE=bpf
	mkdir work/d
	local i
	for i in {1..200}; do echo "$i" >work/d/$i; done
	cat >work/race.py <<-'END'
		import os
		child = os.fork()
		while not child:
		    os.rename("d", "e")
		    os.rename("e", "d")
		for i in range(200, 0, -1):
		    try:
		        os.close(os.open(f"d/{i}", os.O_RDONLY))
		        print(i)
		    except FileNotFoundError:
		        pass
		os.kill(child, 9)
		os.waitpid(child, 0)
	END
	trace python3 race.py >said
	manifest -r '.files[] | select(.operations | contains(["read"])).path' | sed -n 's|.*/[de]/\([0-9]*\)$|\1|p' | sort -u >told
	[ "$(manifest .complete)" = false ] || is "$(sort said | comm -23 - told)" ""
}
