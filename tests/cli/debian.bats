# debian: a real root file system (tools/rootfs) is used by root, by an ordinary user with
# subordinate ids, and by one without.
#
# If root runs these tests, the two ordinary users are simulated: the commands run in a mount
# namespace of their own, in which /etc/passwd, /etc/subuid and /etc/subgid are other files.  The
# machine's own files do not change.  If an ordinary user runs these tests, they use only that user.
#
# Each kind of user has one environment, which is made when it is first needed.  Each test has a
# fork of its own.  TORN_ROUNDS (100) is the number of snapshots of the consistency test.
load helpers
load history
load rootfs

SUB_FIRST=1879048192 # a range that no user has

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$BATS_FILE_TMPDIR"
	"$BATS_TEST_DIRNAME/../../tools/rootfs" >rootfs.path 2>rootfs.why || true
	cp "$STRATA" strata
	[ "$(command id -u)" != 0 ] || make_users
}

# as-user: runs a command as a user of the machine with or without subordinate ids.
make_users() {
	local uid=54321
	while getent passwd $uid >/dev/null; do uid=$((uid + 1)); done
	{ cat /etc/passwd; echo "stratatest:x:$uid:$uid::/:/bin/sh"; } >passwd
	echo "stratatest:$SUB_FIRST:65536" >subids
	: >none
	chmod 644 passwd subids none
	cat >as-user <<-END
		#!/bin/sh -e
		kind=\$1
		shift
		mount --bind '$PWD/passwd' /etc/passwd
		mount --bind "$PWD/\$kind" /etc/subuid
		mount --bind "$PWD/\$kind" /etc/subgid
		exec setpriv --reuid $uid --regid $uid --clear-groups --inh-caps=-all -- "\$@"
	END
	chmod 755 as-user
	echo $uid >uid
}

# Files of subordinate ids can only be removed with these ids.
teardown_file() {
	discard "$BATS_FILE_TMPDIR"/env-* || true
	chmod -R u+rwX "$BATS_FILE_TMPDIR" 2>/dev/null || true
}

setup() {
	strata_setup
	chmod 755 "$BATS_TEST_TMPDIR"
	STRATA=$BATS_FILE_TMPDIR/strata
	if [ ! -s "$BATS_FILE_TMPDIR/rootfs.path" ]; then
		case $(cat "$BATS_FILE_TMPDIR/rootfs.why") in
		*"not root"*) unavailable "not root" ;;
		*"no network"*) skip "no network" ;;
		*) unavailable "$(tail -n 1 "$BATS_FILE_TMPDIR/rootfs.why")" ;;
		esac
	fi
}

teardown() {
	if [ -n "${kind:-}" ]; then strata checkout HEAD >/dev/null 2>&1 || true; fi
	strata_teardown
}

# be KIND: from now on strata is run by root, or by an ordinary user with (subids) or without (none)
# subordinate ids.  The test gets a workspace of its own.
be() {
	kind=$1
	user=()
	if [ "$(command id -u)" != 0 ]; then
		[ "$kind" != root ] || unavailable "not root"
		[ "$kind" != subids ] || has_subids || unavailable "not root"
		[ "$kind" != none ] || ! has_subids || unavailable "not root"
	elif [ "$kind" != root ]; then
		need newuidmap setpriv unshare
		user=(unshare --mount "$BATS_FILE_TMPDIR/as-user" "$kind")
	fi
	export STRATA_ROOT=$BATS_FILE_TMPDIR/env-$kind
	[ -e "$STRATA_ROOT.made" ] || make_environment
	STRATA_WORKSPACE=main strata fork "t$BATS_TEST_NUMBER" >/dev/null
	export STRATA_WORKSPACE=t$BATS_TEST_NUMBER
	first=$(strata head)
}

make_environment() {
	rm -rf "$STRATA_ROOT"
	mkdir "$STRATA_ROOT"
	[ ${#user[@]} = 0 ] || chown "$(cat "$BATS_FILE_TMPDIR/uid"):$(cat "$BATS_FILE_TMPDIR/uid")" "$STRATA_ROOT"
	strata init --tarball "$(cat "$BATS_FILE_TMPDIR/rootfs.path")" --backend overlay >/dev/null
	STRATA_WORKSPACE=main do_in 'cat >/treewalk; chmod 755 /treewalk' <"$TOOLS/treewalk-static"
	touch "$STRATA_ROOT.made"
}

strata() { "${user[@]}" "$STRATA" "$@"; }

# look: print everything that programs see, with the contents of the directories that the tests
# change.
look() {
	in_env sh -c '/treewalk / --one-file-system; /treewalk /etc --content; /treewalk /var/lib/dpkg --content' |
		grep -Ev '^(proc|sys|dev|etc/resolv\.conf|resolv\.conf) '
}

# unchanged: the live tree equals HEAD.
unchanged() { is "$(strata status --json | jq -c '[.dirty, .dirty_paths]')" '[0,[]]'; }

# there_and_back: undo the last node and redo it.  The tree must be exactly as in seen.first, and as
# before.
there_and_back() {
	look >seen.after
	run ! cmp -s seen.first seen.after
	unchanged
	strata checkout "$first" >/dev/null
	look >seen.now
	same seen.first seen.now
	strata checkout '@{-1}' >/dev/null
	look >seen.now
	same seen.after seen.now
	unchanged
}
same() { diff "$1" "$2" >differs || { head -n 20 differs; return 1; }; }

# ------------------------------------------------------------------ packages

# Makes a package with a configuration file, a file of another owner, and a script that adds a user.
make_package() { # OWNER
	in_env sh -ec '
		mkdir -p /tmp/p/DEBIAN /tmp/p/etc /tmp/p/usr/share/stratatest /tmp/p/usr/bin
		cd /tmp/p
		printf "Package: stratatest\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a test\n" >DEBIAN/control
		echo /etc/stratatest.conf >DEBIAN/conffiles
		printf "#!/bin/sh\nset -e\nuseradd --system --no-create-home stratauser\n" >DEBIAN/postinst
		chmod 755 DEBIAN DEBIAN/postinst
		echo setting=1 >etc/stratatest.conf
		echo data >usr/share/stratatest/data
		chmod 2750 usr/share/stratatest
		chmod 640 usr/share/stratatest/data
		chown '"$1"' usr/share/stratatest usr/share/stratatest/data
		cp /usr/bin/id usr/bin/stratatest-id
		chmod 4755 usr/bin/stratatest-id
		dpkg-deb --build /tmp/p /tmp/stratatest.deb >/dev/null
		cat /tmp/stratatest.deb
		rm -r /tmp/p /tmp/stratatest.deb' >stratatest.deb
	strata checkout HEAD >/dev/null
}

package() { # KIND OWNER
	be "$1"
	make_package "$2"
	look >seen.first
	strata exec -q -- sh -ec 'cat >/tmp/d.deb; dpkg -i /tmp/d.deb >&2; rm /tmp/d.deb' <stratatest.deb 2>dpkg.txt || { cat dpkg.txt; return 1; }
	is "$(in_env sh -c 'dpkg -s stratatest | grep ^Status; cat /etc/stratatest.conf; getent passwd stratauser | cut -d: -f1')" \
		$'Status: install ok installed\nsetting=1\nstratauser'
	is "$(in_env stat -c '%u:%g %a' /usr/share/stratatest /usr/share/stratatest/data)" "$2 2750"$'\n'"$2 640"
	is "$(strata show HEAD --json | jq -r '.exit_status, .changes.deleted')" $'0\n0'
	there_and_back
	# An edited configuration file survives an upgrade that was rolled back.
	do_in 'echo setting=2 >/etc/stratatest.conf; dpkg -P --force-all stratatest >/dev/null; [ ! -e /etc/stratatest.conf ]'
	strata undo >/dev/null
	is "$(in_env cat /etc/stratatest.conf)" setting=1
	strata checkout "$first" >/dev/null
	run ! in_env dpkg -s stratatest
	run ! in_env getent passwd stratauser
}

@test "a package is installed and rolled back exactly: root" { package root 33:8; }
@test "a package is installed and rolled back exactly: a user with subordinate ids" { package subids 33:8; }
@test "a package is installed and rolled back exactly: a user without" { package none 0:0; }

# offline: whether this machine cannot reach the archive, without any part of strata.
offline() {
	local host
	host=$(sed -nE 's!^(URIs: |deb )?.*http://([^/ ]*).*!\2!p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
	! timeout 10 bash -c 'exec 9<>"/dev/tcp/$1/80"' - "${host:-deb.debian.org}" 2>/dev/null
}

install() { # KIND [OPTION of apt-get]...
	be "$1"
	shift
	in_env apt-get "$@" -q update >apt.txt 2>&1 || { offline && skip "no network"; cat apt.txt; return 1; }
	strata commit >/dev/null
	first=$(strata head)
	look >seen.first
	strata exec -q --env DEBIAN_FRONTEND=noninteractive -- apt-get "$@" -q install -y --no-install-recommends jq >apt.txt 2>&1 ||
		{ tail -n 20 apt.txt; offline && skip "no network"; return 1; }
	is "$(in_env sh -c 'echo "{\"a\": 7}" | jq .a')" 7
	there_and_back
	strata checkout "$first" >/dev/null
	run -127 in_env jq .
}

@test "apt-get install by an ordinary user" {
	# Without subordinate ids there is no other user for the download.
	if [ "$(command id -u)" = 0 ] || has_subids; then
		install subids
	else
		install none -o APT::Sandbox::User=root
	fi
}

# ------------------------------------------------------------------ everything

everything() { # KIND
	be "$1"
	look=${2:-look}
	"$look" >seen.first
	do_in 'rm -rf /usr'
	run -127 --separate-stderr strata exec -- ls
	[[ $stderr == "strata: "* ]]
	[ "$(strata show HEAD --json | jq .changes.deleted)" -gt 4000 ]
	strata fsck >/dev/null
	strata checkout "$first" >/dev/null
	"$look" >seen.now
	same seen.first seen.now
	strata undo >/dev/null
	run -127 --separate-stderr strata exec -- ls
	strata redo >/dev/null
	"$look" >seen.now
	same seen.first seen.now
	unchanged
}

@test "rm -rf /usr and back: root" { everything root seen; }
@test "rm -rf /usr and back: a user with subordinate ids" { everything subids; }
@test "rm -rf /usr and back: a user without" { everything none; }

@test "removed with everything in it, while programs run, and brought back path by path" {
	be "$([ "$(command id -u)" = 0 ] && echo root || { has_subids && echo subids || echo none; })"
	look >seen.first
	strata exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	in_env rm -rf /usr/share /root /var/lib/dpkg
	strata restore "$first" -- usr/share root var/lib
	look >seen.now
	# The directories of these files were not asked for, so they may differ.
	sed -i -E '/^(\.|usr|var) dir /d' seen.first seen.now
	same seen.first seen.now
	[ "$(strata status --json | jq '.processes | length')" -ge 1 ]
}

# ---------------------------------------------------------------- permissions

unreadable() { # KIND
	be "$1"
	look >seen.first
	do_in '
		mkdir -p /r/o/deep /z
		echo 1 >/r/o/file; echo 2 >/r/o/deep/file; echo 3 >/z/secret; echo 4 >/secret; ln /secret /r/o/linked
		chmod 0000 /secret /z/secret /r/o/deep/file
		chmod 0555 /r/o/deep /r/o /r
		chmod 0000 /z
		chmod 0000 /etc/hostname
		chmod 0555 /usr/share/doc'
	is "$(strata cat HEAD:secret; strata cat HEAD:z/secret; strata cat HEAD:r/o/deep/file)" $'4\n3\n2'
	there_and_back
	# Change files again that have no write permission.
	do_in 'echo more >>/r/o/deep/file; rm /r/o/file; echo new >/z/new; rm -r /usr/share/doc/apt; echo x >/usr/share/doc/x'
	is "$(strata cat HEAD:r/o/deep/file)" $'2\nmore'
	first=$(strata head)
	look >seen.first
	do_in 'rm -rf /r /z /secret'
	there_and_back
}

@test "read-only directories and files without any right: root" { unreadable root; }
@test "read-only directories and files without any right: a user with subordinate ids" { unreadable subids; }
@test "read-only directories and files without any right: a user without" { unreadable none; }

@test "owners nobody here can give stay in the history" {
	be none
	owner() { strata ls --json HEAD:etc | jq -r '.entries[] | select(.path == "etc/shadow" or .name == "shadow") | "\(.uid):\(.gid)"'; }
	is "$(owner)" 0:42
	do_in 'echo "# changed" >>/etc/shadow; echo 1 >/etc/other'
	is "$(owner)" 0:42
	strata checkout "$first" >/dev/null
	strata undo >/dev/null
	is "$(owner)" 0:42
	# A device that could not be made is not listed either.
	is "$(strata diff "$first" HEAD --name-status)" $'+\tetc/other\nM\tetc/shadow'
	clean
}

ids_inside() { # KIND
	be "$1"
	is "$(strata exec --user www-data -- id -u)" 33
	is "$(strata exec --user 1234 -- id -u)" 1234
	is "$(strata exec --user www-data -- sh -c 'cp /usr/bin/id /tmp/x; stat -c %u:%g /tmp/x' 2>/dev/null)" 33:33
	# setuid programs work as on any system.
	do_in 'cp /usr/bin/id /root-id; chmod 4755 /root-id'
	is "$(strata exec --user www-data -- /root-id -u)" 0
	run ! strata exec --user www-data -- cat /etc/shadow
	do_in 'chown 12:34 /tmp/x; mkdir /tmp/d; chown 65533:65534 /tmp/d'
	is "$(strata ls --json HEAD:tmp | jq -r '.entries[] | "\(.uid):\(.gid)"')" $'65533:65534\n12:34'
	strata checkout "$first" >/dev/null
	strata checkout '@{-1}' >/dev/null
	is "$(in_env stat -c %u:%g /tmp/d /tmp/x)" $'65533:65534\n12:34'
	clean
}

@test "users inside: root" { ids_inside root; }
@test "users inside: a user with subordinate ids" { ids_inside subids; }
@test "users inside: a user without is told what is missing" {
	be none
	run -125 --separate-stderr strata exec --user www-data -- id
	[[ $stderr == *subuid* ]]
}

# ----------------------------------------------------------------- consistency

# torn KIND: one writer keeps two files equal, and another keeps the two halves of a file equal.  No
# snapshot may contain a state in which they differ.
torn() {
	be "$1"
	strata exec --no-commit -- sh -c '
		(i=0
		while :; do
			i=$((i + 1))
			echo $i >/a.new; mv /a.new /a
			echo $i >/b.new; mv /b.new /b
		done) </dev/null >/dev/null 2>&1 &'
	# On a busy machine, the writer may not run between two commits, which then make only one
	# node.
	local rounds=$((${TORN_ROUNDS:-100} / ${2:-1})) i made=0 last
	last=$(strata head)
	for ((i = 0; i < rounds || (made < rounds / 2 && i < 20 * rounds); i++)); do
		strata commit -m torn >/dev/null
		[ "$(strata head)" = "$last" ] || made=$((made + 1))
		last=$(strata head)
	done
	strata checkout HEAD >/dev/null
	strata log --json | jq -r '.nodes[] | select(.message == "torn") | .id' >ids
	[ "$(wc -l <ids)" -ge $((rounds / 2)) ]
	while read -r id; do echo "$id $(strata cat "$id:a") $(strata cat "$id:b")"; done <ids >pairs
	# B is written after A.  So the number in B is the same as in A, or one less.
	awk '$2 != $3 && $2 != $3 + 1 { print "torn:", $0; bad = 1 } END { exit bad }' pairs
	# The numbers must not always be the same.
	[ "$(cut -d ' ' -f 2 pairs | sort -u | wc -l)" -gt 5 ]
}

@test "a snapshot is never torn: root" { torn root; }
@test "a snapshot is never torn: an ordinary user" { torn "$([ "$(command id -u)" = 0 ] || ! has_subids && echo none || echo subids)" 3; }
