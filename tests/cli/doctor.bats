# doctor: what this machine offers.
load helpers
load history

@test "doctor --json lists every feature with its remedy" {
	run -0 --separate-stderr strata doctor --json
	is "$(jq -r '[.checks[].name] - ["libgit2", "libarchive", "inotify", "openat2"] | join(" ")' <<<"$output")" \
		"userns overlay landlock seccomp_notify cgroup_freezer subordinate_ids btrfs reflink zfs git ssh"
	is "$(jq '[.checks[] | (.ok | type == "boolean") and (.detail | length > 0) and (.ok == (.remedy == null))] | all' <<<"$output")" true
}

@test "doctor says yes or no for each, and what is lost" {
	strata doctor --json >d.json
	run -0 --separate-stderr strata doctor
	is "$(grep -cE '^(yes |no  ) ' <<<"$output")" "$(jq '.checks | length' d.json)"
	is "$(grep -cE '^     ' <<<"$output")" "$(jq '[.checks[] | select(.ok | not)] | length' d.json)"
}

@test "doctor needs no environment and leaves nothing behind" {
	strata doctor >/dev/null
	is "$(ls -A env home)" $'env:\n\nhome:'
	strata --root nowhere doctor >/dev/null
	[ ! -e nowhere ]
}

@test "doctor tells the truth about git and ssh" {
	for program in git ssh; do
		want=false
		command -v $program >/dev/null && want=true
		is "$(strata doctor --json | jq ".checks[] | select(.name == \"$program\") | .ok")" $want
	done
	mkdir bin
	is "$(PATH=$PWD/bin "$STRATA" doctor --json | jq -c '[.checks[] | select(.name == "git" or .name == "ssh") | .ok]')" '[false,false]'
}

@test "doctor tells which libraries can be loaded" {
	is "$(strata doctor --json | jq -c '[.checks[] | select(.name | startswith("lib")) | [.name, .ok]]')" \
		'[["libgit2",true],["libarchive",true]]'
}

@test "doctor names the setting that forbids user namespaces, and what to do" {
	need_userns
	without_userns "$STRATA" doctor --json >d.json
	is "$(jq '.checks[] | select(.name == "userns") | .ok' d.json)" false
	detail=$(jq -r '.checks[] | select(.name == "userns") | .detail' d.json)
	[[ $detail == *"/proc/sys/user/max_user_namespaces is 0"* ]]
	[[ $detail == *"sysctl user.max_user_namespaces="* ]]
	[[ $(jq -r '.checks[] | select(.name == "userns") | .remedy' d.json) == *user.max_user_namespaces* ]]
}

@test "doctor takes no arguments" {
	usage strata doctor x
}
