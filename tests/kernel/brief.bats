# brief: uses each family of commands once, for each kind of user.  .ci/run runs only this file in
# the virtual machine.
load users

said() { grep -qF "$1" owner.out; }

all_families() { # KIND
	be "$1"
	seen >seen.first
	do_in 'echo 1 >/srv/near; rm -r /usr/lib/sub; chmod 4711 /srv/many/9'
	near=$(strata head)
	right
	cp seen.now seen.near
	strata checkout "$first" >/dev/null
	do_in "$FAR"
	far=$(strata head)
	# Check out a distant node and come back, and then visit the nodes near it.
	at "$near" near
	strata checkout "$far" >/dev/null
	is "$(in_env sh -c 'ls /far/* | wc -l')" 319
	# Fork a workspace while a program runs.
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	strata fork other "$near" >/dev/null
	is "$(strata -w other exec --no-commit -- cat /srv/near)" 1
	strata workspaces delete other >/dev/null
	# Record a command.
	strata exec -q --trace -- sh -c 'cat /srv/many/1 >/srv/copy'
	strata show HEAD --json | jq -e .trace >/dev/null
	strata trace --snapshot-dir "$PWD/home/bundle" -- sh -c "echo 1 >$PWD/home/new"
	strata trace restore home/bundle --before >/dev/null
	[ ! -e home/new ]
	# Roll back an agent.
	strata checkout "$first" >/dev/null
	"${user[@]}" "$STRATA" supervise -- sh -c 'echo "agent: $(ls /srv)"; sleep 1000' >owner.out 2>owner.err 3>&- &
	owner=$!
	wait_for said "agent: many"
	strata checkout "$near" >/dev/null
	wait_for said near
	kill -TERM "$owner"
	wait "$owner" || true
	owner=
	# Remove unneeded objects, and then the whole environment.
	strata checkout "$near" >/dev/null
	strata delete "$far" >/dev/null
	strata gc >/dev/null
	at "$first" first
	strata fsck >/dev/null
	strata destroy --yes >/dev/null
	# A user who may not remove the directory itself leaves it empty.
	is "$(ls -A env 2>/dev/null)" ""
}
@test "all families: root" { all_families root; }
@test "all families: a user with subordinate ids" { all_families sub; }
@test "all families: a user without" { all_families plain; }
