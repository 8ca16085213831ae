# trace: records a command and undoes it, with the engine that this kernel allows.
load users

# in_src COMMAND...: run a command as the user, in the directory src.
in_src() { (cd src && "${user[@]}" "$@"); }

traced_and_undone() { # KIND ENGINE ENGINE-TAKEN
	be "$1"
	in_src sh -ec 'mkdir d; echo one >d/one; echo two >d/two; chmod 640 d/two; ln -s one d/link'
	walk src --content >before.walk
	in_src "$STRATA" trace --engine "$2" --snapshot-dir "$PWD/home/bundle" -- \
		sh -ec 'cat d/one >d/three; echo more >>d/two; rm d/link; mv d/one d/moved; mkdir e'
	walk src --content >after.walk
	run ! cmp -s before.walk after.walk
	is "$(strata trace cat home/bundle before "$PWD/src/d/two")" two
	is "$(strata trace cat home/bundle after "$PWD/src/d/two")" $'two\nmore'
	is "$(jq -r .engine home/bundle/manifest.json)" "$3"
	strata trace verify home/bundle >/dev/null
	strata trace restore home/bundle --before >/dev/null
	walk src --content | grep -v '^\. ' >now.walk
	same <(grep -v '^\. ' before.walk) now.walk
	strata trace restore home/bundle >/dev/null
	same <(grep -v '^\. ' after.walk) <(walk src --content | grep -v '^\. ')
	# Record and undo a command in the environment, too.
	strata exec -q --trace -- sh -ec 'cat /srv/many/1 >/srv/copy; rm /srv/many/2'
	right
	strata show HEAD --json >show.json
	jq -e '.trace' show.json >/dev/null || { cat show.json; return 1; }
}
@test "trace: root" { traced_and_undone root auto bpf; }
@test "trace: a user with subordinate ids" { traced_and_undone sub auto notify; }
@test "trace: a user without" { traced_and_undone plain auto notify; }
@test "trace by ptrace: a user without" { traced_and_undone plain ptrace ptrace; }
