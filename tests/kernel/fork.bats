# fork: makes workspaces from a workspace, also while a program runs in it.
load users

forks() {
	be "$1"
	do_in "$FAR"
	seen >seen.far
	strata fork --count 2 try >/dev/null
	strata -w try1 exec -q -- sh -ec 'rm -r /far; echo 1 >/srv/try'
	strata -w try2 exec -q -- sh -ec 'echo 2 >/srv/try; echo more >>/far/8/8'
	is "$(STRATA_WORKSPACE=try1 in_env sh -c 'cat /srv/try; ls /far 2>/dev/null | wc -l')" $'1\n0'
	is "$(STRATA_WORKSPACE=try2 in_env sh -c 'cat /srv/try; ls /far | wc -l')" $'2\n10'
	for w in try1 try2; do
		export STRATA_WORKSPACE=$w
		right
	done
	unset STRATA_WORKSPACE
	right
	same seen.far seen.now
	# A program runs in the workspace that is forked.
	strata exec -q -- sh -ec 'sleep 1000 >/dev/null 2>&1 & echo running >/srv/running'
	strata fork beside >/dev/null
	STRATA_WORKSPACE=beside right
	is "$(STRATA_WORKSPACE=beside in_env cat /srv/running)" running
	for w in try1 try2 beside; do strata workspaces delete "$w" >/dev/null; done
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main"]'
}
@test "fork: root" { forks root; }
@test "fork: a user with subordinate ids" { forks sub; }
@test "fork: a user without" { forks plain; }
