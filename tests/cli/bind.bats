# exec --bind: a command sees files and directories of the host in the sandbox.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	mini_rootfs src
	mkdir -p host/sub
	echo outside >host/file
	ln -s /etc/passwd host/link
}

teardown() {
	strata checkout HEAD >/dev/null 2>&1 || true
	end_owner
}

@test "--bind shows a directory of the host, and what is written there is the host's" {
	mkdir src/srv
	begin
	first=$(strata head)
	run -0 --separate-stderr strata exec --bind host:/srv -- sh -ec 'cat /srv/file; echo inside >/srv/sub/new; stat -c "%u %g" /srv/file'
	is "$output" $'outside\n0 0'
	is "$stderr" ""
	is "$(cat host/sub/new)" inside
	is "$(stat -c %u host/sub/new)" "$(command id -u)"
	is "$(strata head)" "$first"
	clean
	# The next command does not have the bind.
	is "$(in_env ls /srv)" ""
}

@test "--bind takes a single file, and more than one bind" {
	mkdir src/srv
	: >src/etc/one
	begin
	echo two >host/two
	is "$(strata exec --bind host/two:/etc/one --bind host:/srv:ro -- sh -c 'cat /etc/one /srv/file')" $'two\noutside'
	# A directory is mounted before its entries, in whatever order they are given.
	mkdir other
	echo below >other/x
	is "$(strata exec --bind other:/srv/sub --bind host:/srv -- cat /srv/sub/x)" below
	[ ! -e host/sub/x ]
}

@test "a read-only bind stays so for root inside" {
	mkdir src/srv
	begin
	run -0 --separate-stderr strata exec --bind host:/srv:ro -- sh -c '
		! touch /srv/no && ! mount -o remount,bind,rw /srv && ! umount /srv && ! touch /srv/no &&
		! unshare -m sh -c "mount -o remount,bind,rw /srv; touch /srv/no" && ls /srv'
	is "$output" $'file\nlink\nsub'
	[ ! -e host/no ]
}

@test "a mount point that is missing is made, said and recorded as an empty one" {
	begin
	run -0 --separate-stderr strata exec --bind host:/a/b --bind host/file:/c -- cat /a/b/file /c
	is "$output" $'outside\noutside'
	is "${stderr_lines[0]}" "strata: made 2 mount points, which stay in the environment"
	is "$(strata diff HEAD~1 HEAD)" $'+\ta\n+\ta/b\n+\tc'
	is "$(strata ls HEAD:a/b)" ""
	is "$(strata cat HEAD:c)" ""
	# The mount point was made before, so this is not reported again.
	run -0 --separate-stderr strata exec --bind host:/a/b -- true
	is "$stderr" ""
}

@test "the node and show say which binds there were" {
	begin
	strata exec -q --bind host:/srv --bind host/file:/f:ro -- touch /root/x
	is "$(strata show --json | jq -c '[.binds[] | [.host, .inside, .read_only]]')" \
		"[[\"$PWD/host/file\",\"/f\",true],[\"$PWD/host\",\"/srv\",false]]"
	strata show >shown.txt
	grep -qxF "bound    /srv is the host's $PWD/host: changes there are in no node" shown.txt
	grep -qxF "bound    /f is the host's $PWD/host/file, read-only" shown.txt
	strata exec -q -- touch /root/y
	is "$(strata show --json | jq -c .binds)" "[]"
	strata fsck >/dev/null
}

@test "a command that joins others has its own binds, and status lists them while they last" {
	mkdir src/srv
	begin
	strata exec -q -- sh -c 'sleep 1000 >/dev/null 2>&1 &'
	is "$(strata status --json | jq -c .binds)" "[]"
	is "$(strata exec --bind host:/srv -- sh -c 'sleep 1001 >/dev/null 2>&1 & cat /srv/file')" outside
	is "$(strata status --json | jq -c '[.binds[] | [.host, .inside, .read_only]]')" "[[\"$PWD/host\",\"/srv\",false]]"
	grep -qxF "bound        /srv is the host's $PWD/host: changes there are in no node" < <(strata status)
	mkdir other
	echo other >other/file
	is "$(strata exec --bind other:/srv -- cat /srv/file)" other
	is "$(in_env ls /srv)" ""
	# A node that is made meanwhile lists the bind, too.
	strata exec -q -- touch /root/x
	is "$(strata show --json | jq -c '[.binds[].inside]')" '["/srv"]'
	strata exec -q -- sh -c 'for p in $(pidof sleep); do grep -q 1001 /proc/$p/cmdline && kill $p; done; true'
	unbound() { [ "$(strata status --json | jq -c .binds)" = "[]" ]; }
	wait_for unbound
}

@test "what is bound is neither captured nor changed by restore and checkout --live" {
	mkdir src/srv
	echo tree >src/srv/tree
	begin
	strata exec -q --bind host:/srv -- sh -c 'echo x >/root/x; sleep 1000 >/dev/null 2>&1 &'
	strata exec -q -- sh -c 'echo two >/srv/tree'
	strata restore HEAD~1 -- srv
	is "$(strata cat work:srv/tree)" tree
	strata checkout --live HEAD~2 >/dev/null
	is "$(ls host)" $'file\nlink\nsub'
	is "$(strata ls work:srv | wc -l)" 1
}

@test "the environment's own files are hidden in what is bound" {
	mkdir project
	echo code >project/code
	export STRATA_ROOT=$PWD/project/.strata
	mkdir src/srv src/all
	begin
	is "$(strata exec --bind project:/srv -- sh -c 'ls -A /srv /srv/.strata; ! touch /srv/.strata/x 2>/dev/null')" \
		$'/srv:\n.strata\ncode\n\n/srv/.strata:'
	is "$(strata exec --bind /:/all -- ls -A "/all$PWD/project/.strata")" ""
	fails 125 "strata: --bind: '$PWD/project/.strata' is part of the environment's own files
hint: a directory that contains them can be bound: they are hidden inside" \
		strata exec --bind project/.strata:/srv -- true
	fails 125 "strata: --bind: '$PWD/project/.strata/run' is part of the environment's own files
hint: a directory that contains them can be bound: they are hidden inside" \
		strata exec --bind project/.strata/run:/srv -- true
}

@test "the environment is hidden under every name it is mounted at" {
	need_root
	mkdir project alias src/srv
	export STRATA_ROOT=$PWD/project/.strata
	begin
	cat >inner.sh <<-'IN'
		mount --bind project alias
		[ -e alias/.strata/strata.db ]
		"$STRATA" exec --bind "$PWD:/srv" -- sh -c 'ls -A /srv/alias/.strata /srv/project/.strata'
	IN
	run -0 --separate-stderr unshare -m bash -eu inner.sh
	is "$output" $'/srv/alias/.strata:\n\n/srv/project/.strata:'
}

@test "no file of the kernel comes in with a bind" {
	mkdir src/all
	begin
	is "$(strata exec --bind /:/all -- sh -c 'ls -A /all/proc /all/sys; ! umount /all/proc 2>/dev/null')" $'/all/proc:\n\n/all/sys:'
	fails 125 "strata: --bind: '/proc' is a file of the kernel (proc): the sandbox has its own" \
		strata exec --bind /proc:/all -- true
	run -125 --separate-stderr strata exec --bind /proc/self/fd:/all -- true
	fails 125 "strata: --bind: '/dev/null' is a device: none works inside" strata exec --bind /dev/null:/all -- true
}

@test "set-user-id files and devices of the host have no power inside" {
	mkdir src/srv
	begin
	is "$(strata exec --bind host:/srv -- sh -c 'grep -c " /srv .*nosuid,nodev" /proc/self/mountinfo')" 1
}

@test "mount points are not looked for through links" {
	ln -s /etc src/elsewhere
	begin
	run -125 --separate-stderr strata exec --bind host:/elsewhere -- true
	is "$stderr" "strata: --bind: '/elsewhere': a symbolic link is there"
	run -125 --separate-stderr strata exec --bind host:/elsewhere/deep -- true
	[[ $stderr == "strata: --bind: '/elsewhere/deep': "* ]]
	run -125 --separate-stderr strata exec --bind host:/etc/passwd -- true
	is "$stderr" "strata: --bind: '/etc/passwd': a directory cannot be bound over a file"
	clean
}

@test "a mount point in another bind is never made on the host" {
	mkdir src/srv
	begin
	run -125 --separate-stderr strata exec --bind host:/srv --bind host/sub:/srv/missing -- true
	[[ $stderr == "strata: --bind: '/srv/missing': "* ]]
	[ ! -e host/missing ]
}

@test "a colon and a backslash in a name are escaped" {
	mkdir 'with:colon' 'back\slash'
	echo colon >'with:colon/x'
	echo slash >'back\slash/x'
	begin
	is "$(strata exec -q --bind 'with\:colon:/in\:side' --bind 'back\\slash:/b' -- cat /in:side/x /b/x)" $'colon\nslash'
	is "$(strata show --json | jq -r '.binds[].host')" "$PWD/back\\slash"$'\n'"$PWD/with:colon"
}

@test "--bind: wrong usage" {
	begin
	fails 2 "strata: --bind takes HOST:INSIDE or HOST:INSIDE:ro ('\\:' for a colon in a name), not 'host'" strata exec --bind host -- true
	run -2 strata exec --bind host:/a:rx -- true
	run -2 strata exec --bind host:/a:ro:b -- true
	run -2 strata exec --bind :/a -- true
	usage strata exec --bind host:a -- true
	usage strata exec --bind host:/a/../b -- true
	usage strata exec --bind host:/ -- true
	usage strata exec --bind host:// -- true
	usage strata exec --bind host:/proc/x -- true
	usage strata exec --bind host:/dev -- true
	usage strata exec --bind host:/sys/ -- true
	usage strata exec --bind host:/a --bind host:/a/ -- true
	fails 125 "strata: --bind: no file 'missing'" strata exec --bind missing:/a -- true
}

@test "supervise --bind, and its automatic nodes say so" {
	mkdir src/srv
	begin
	run -0 --separate-stderr strata supervise --bind host:/srv -- sh -c 'cp /srv/file /root/x; sleep 1'
	is "$(strata cat HEAD:root/x)" outside
	is "$(strata log --json | jq -c '[.nodes[] | select(.kind == "auto") | .binds[].inside] | unique')" '["/srv"]'
}

@test "exec --bind over the control socket" {
	mkdir src/srv
	begin
	own daemon
	strata ctl exec shell='cat /srv/file >/root/copy' bind="$PWD/host:/srv" >answer.json
	is "$(jq -c '[.exit_status, .node.binds[0].inside]' answer.json)" '[0,"/srv"]'
	is "$(strata exec -q --bind host:/srv -- cat /srv/file)" outside
}

@test "root's binds: owners are the true ones, on both sides" {
	need_root
	begin
	echo web >host/web
	chown 33:34 host/web
	mkdir host/below
	mount -t tmpfs none host/below
	echo deep >host/below/file
	chown 7:8 host/below/file
	run -0 strata exec -q --bind host:/made/here -- sh -ec '
		stat -c "%u:%g" /made/here/file /made/here/web /made/here/below/file /made
		: >/made/here/root; : >/made/here/given; chown 70000:80000 /made/here/given; : >/made/here/below/root'
	# The directory is bound twice: by itself, and as a part of the directory that contains its
	# mount.
	twice=$(strata exec -q --no-commit --bind host:/made/here --bind host/below:/b -- stat -c %u:%g /b/file /made/here/below/file)
	umount host/below
	is "$output" $'0:0\n33:34\n7:8\n0:0'
	is "$twice" $'7:8\n7:8'
	is "$(stat -c %u:%g host/root host/given host/web)" $'0:0\n70000:80000\n33:34'
	# The mount point in the tree has these owners, too.
	is "$(strata export HEAD -o - | tar -t --numeric-owner -v | awk '$6 ~ /^([.]\/)?made\// { print $2 }')" $'0/0\n0/0'
}

@test "root's binds: a file system that cannot map owners is refused, with what to do" {
	need_root
	begin
	run -0 --separate-stderr strata exec --no-commit -- true
	[ -z "$stderr" ] || unavailable "ids cannot be mapped here"
	mkdir o
	mount -t tmpfs none o
	mkdir o/lower o/upper o/work o/all
	mount -t overlay none -o "lowerdir=$PWD/o/lower,upperdir=$PWD/o/upper,workdir=$PWD/o/work" o/all
	run --separate-stderr strata exec --bind o/all:/srv -- true
	umount o/all o
	is "$status" 125
	[[ $stderr == *"(overlay) cannot map owners"*"strata cp"* ]]
}
