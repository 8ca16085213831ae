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
