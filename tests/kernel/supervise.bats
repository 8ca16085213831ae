# supervise: rolls back an agent from outside.
load users

AGENT='echo "agent: $(ls /done 2>/dev/null | wc -l) done"
mkdir -p /done
while :; do touch "/done/$(ls /done | wc -l)"; usleep 300000; done'

said() { grep -qF "$1" owner.out; }
has_done() { [ "$(strata ls HEAD:done --json 2>/dev/null | jq '.entries | length')" -ge "$1" ] 2>/dev/null; }

supervised() {
	be "$1"
	"${user[@]}" "$STRATA" supervise -- sh -c "$AGENT" >owner.out 2>owner.err 3>&- &
	owner=$!
	wait_for has_done 2
	strata tag good >/dev/null
	strata exec -q -- rm -rf /bin/sh /done
	is "$(strata ls HEAD:done 2>&1 >/dev/null | wc -l)" 1
	strata checkout good >/dev/null
	wait_for said "agent: $(strata ls good:done --json | jq '.entries | length') done"
	wait_for has_done 4
	kill -TERM "$owner"
	wait "$owner" || true
	owner=
	strata checkout good >/dev/null
	right
	is "$(in_env ls /done | sort -n)" "$(strata ls good:done --json | jq -r '.entries[].name' | sort -n)"
}
@test "supervise: root" { supervised root; }
@test "supervise: a user with subordinate ids" { supervised sub; }
@test "supervise: a user without" { supervised plain; }
