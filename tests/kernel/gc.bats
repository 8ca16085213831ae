# gc: removes unneeded objects.  destroy removes the whole environment, with files of every owner.
load users

collected() {
	be "$1"
	seen >seen.first
	do_in "$FAR"
	[ "$kind" = plain ] || do_in 'mkdir /srv/theirs; echo x >/srv/theirs/x; chown -R 33:8 /srv/theirs; chmod 700 /srv/theirs'
	gone=$(strata head)
	strata checkout "$first" >/dev/null
	do_in 'echo kept >/srv/kept'
	right
	cp seen.now seen.kept
	[ "$kind" = plain ] || strata delete "$gone" >/dev/null
	strata delete "$(strata log --json | jq -r '.nodes[] | select(.message | contains("far")) | .id' | head -n 1)" >/dev/null
	before=$(du -s --block-size=1 env | cut -f1)
	strata gc >gc.txt || { cat gc.txt; return 1; }
	after=$(du -s --block-size=1 env | cut -f1)
	[ $((before - after)) -gt 1500000 ] || { echo "$before bytes, then $after"; return 1; }
	right
	same seen.kept seen.now
	at "$first" first
	strata fsck >/dev/null
}
@test "gc: root" { collected root; }
@test "gc: a user with subordinate ids" { collected sub; }
@test "gc: a user without" { collected plain; }

destroyed() {
	strata help | grep -q '^  destroy ' || skip "this strata has no 'destroy'"
	be "$1"
	do_in "$FAR"
	[ "$kind" = plain ] || do_in 'mkdir /srv/theirs; echo x >/srv/theirs/x; chown -R 33:8 /srv/theirs; chmod 700 /srv/theirs'
	strata fork other "$first" >/dev/null
	strata -w other exec -q -- sh -ec 'rm -r /srv; mkdir -m 0 /locked'
	strata destroy --yes >/dev/null
	is "$(find env -mindepth 1 2>&1 | head)" "$([ -e env ] || find env 2>&1)"
	run -1 strata head
	# The same place can be used again.
	"${user[@]}" mkdir -p env
	strata init --tarball "$BATS_FILE_TMPDIR/tree.tar" --backend overlay >/dev/null
	right
}
@test "destroy: root" { destroyed root; }
@test "destroy: a user with subordinate ids" { destroyed sub; }
@test "destroy: a user without" { destroyed plain; }
