# doctor: reports the features that this machine offers.
load helpers
load history
load rootfs

@test "doctor --json lists every feature with its remedy" {
	run -0 --separate-stderr strata doctor --json
	is "$(jq -r '[.checks[].name] - ["id_mapped_mounts", "socket_scopes", "trace_bpf", "libgit2", "libarchive", "inotify", "openat2"] | join(" ")' <<<"$output")" \
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

@test "doctor tries id-mapped mounts, and says what root lacks without" {
	mapped() { jq -c '.checks[] | select(.name == "id_mapped_mounts") | '"$1"; }
	if [ "$(command id -u)" != 0 ]; then
		is "$(strata doctor --json | mapped '[.ok, .detail]')" '[true,"not needed: only sandboxes of root use them"]'
		return
	fi
	# exec warns on stderr if, and only if, doctor finds that id-mapped mounts do not work.
	mini_rootfs src
	begin
	run -0 --separate-stderr strata exec --no-commit -- true
	is "$(strata doctor --json | mapped .ok)" "$([ -n "$stderr" ] && echo false || echo true)"
	# An overlay cannot map ids.
	mkdir o
	mount -t tmpfs none o
	mkdir o/lower o/upper o/work o/all
	mount -t overlay none -o "lowerdir=$PWD/o/lower,upperdir=$PWD/o/upper,workdir=$PWD/o/work" o/all
	strata --root "$PWD/o/all/env" doctor --json >d.json
	left=$(ls -A o/all)
	umount o/all o
	is "$left" ""
	is "$(mapped .ok <d.json)" false
	[[ $(mapped .detail <d.json) == *"does not map ids"* ]]
	[[ $(mapped .remedy <d.json) == *bubblewrap* ]]
}

@test "doctor takes no arguments" {
	usage strata doctor x
}
