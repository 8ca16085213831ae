# du: prints the disk space of each part of the environment.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	begin --backend overlay
}

part() { strata du --json | jq ".disk.$1"; }

@test "each part is what the file system says" {
	strata exec -q -- sh -c 'head -c 300000 /dev/urandom >/root/file'
	for part in base:base uppers:work; do
		has=$(du -s -B1 "env/${part#*:}" | cut -f 1)
		got=$(part "${part%:*}")
		[ "$got" -gt $((has - 65536)) ]
		[ "$got" -le "$has" ]
	done
	[ "$(part store)" -gt 300000 ]
	[ "$(part layers)" -lt 65536 ]
	strata checkout HEAD~1 >/dev/null
	[ "$(part layers)" -gt 300000 ]
	[ "$(part uppers)" -lt 65536 ]
	is "$(strata du --json | jq '.total == ([.disk[]] | add) and .unread == 0')" true
	is "$(strata status --json | jq -c '.disk | keys')" '["base","layers","logs","store","traces","uppers"]'
}

@test "for people" {
	run -0 strata du
	is "$(cut -d ' ' -f 1 <<<"$output")" $'base\nlayers\nuppers\nstore\ntraces\nlogs\ntotal\nlayers'
}

@test "wrong usage" {
	run -2 strata du what
}
