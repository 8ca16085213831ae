# other-user: root works in the environment of another user.  It acts as that user, and leaves no
# files of its own.
load helpers
load history
load rootfs

USER_ID=54321

setup() {
	strata_setup
	need_root
	# A directory that an ordinary user can reach.
	place=$(mktemp -d /tmp/strata-other.XXXXXX)
	cp "$STRATA" "$place/strata"
	STRATA=$place/strata
	mkdir "$place/home"
	chmod 755 "$place"
	chown $USER_ID:$USER_ID "$place/home"
	STRATA_ROOT=$place/home/env
	HOME=$place/home
}

teardown() {
	[ -z "${place:-}" ] || rm -rf --one-file-system "$place"
	strata_teardown
}

user() { setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --inh-caps=-all -- "$@"; }

nothing_of_others() { is "$(find "$place/home" ! -uid $USER_ID -o ! -gid $USER_ID)" ""; }

made_by_user() { # BACKEND
	mini_rootfs "$place/src"
	chown -R -h $USER_ID:$USER_ID "$place/src"
	user "$STRATA" init --from "$place/src" --backend "$1" >/dev/null
}

works_as_user() { # BACKEND
	made_by_user "$1"
	strata exec -q -- sh -c 'echo by root >/root/file; mkdir /root/dir'
	nothing_of_others
	is "$(strata diff HEAD~1 HEAD --name-status | sort)" $'+\troot/dir\n+\troot/file'
	user "$STRATA" exec -q -- sh -c 'echo by the user >>/root/file; rmdir /root/dir'
	is "$(user "$STRATA" cat HEAD:root/file)" $'by root\nby the user'
	is "$(strata status --json | jq .dirty)" 0
	strata commit -m 'of root' --allow-empty >/dev/null
	strata tag here >/dev/null
	strata fork other >/dev/null
	strata -w other exec -q -- sh -c 'echo other >/root/other'
	strata checkout HEAD~2 >/dev/null
	strata undo >/dev/null
	strata gc >/dev/null
	strata fsck >/dev/null
	nothing_of_others
	user "$STRATA" workspaces delete other >/dev/null
	user "$STRATA" checkout HEAD~1 >/dev/null
	user "$STRATA" fsck >/dev/null
	user "$STRATA" commit >/dev/null
	nothing_of_others
}

@test "root works in a user's overlay as that user" { works_as_user overlay; }
@test "root works in a user's plain environment as that user" { works_as_user copy; }

@test "an owner that root starts is the user's" {
	made_by_user overlay
	"$STRATA" daemon >out.txt 2>&1 3>&- &
	owner=$!
	for _ in {1..250}; do ! strata ctl head >/dev/null 2>&1 || break; sleep 0.02; done
	is "$(stat -c %u /proc/$owner)" $USER_ID
	user "$STRATA" exec -q -- sh -c 'echo 1 >/root/file'
	strata exec -q -- sh -c 'echo 2 >/root/file2'
	nothing_of_others
	kill $owner
	wait $owner || true
	nothing_of_others
}

@test "root makes an environment in a user's directory as that user" {
	mini_rootfs "$place/src"
	user mkdir "$STRATA_ROOT"
	strata init --from "$place/src" >/dev/null
	nothing_of_others
	user "$STRATA" exec -q -- sh -c 'echo 1 >/root/file'
	user "$STRATA" fsck >/dev/null
}

@test "root reads a user's environment without a trace" {
	made_by_user copy
	find "$place/home" -printf '%p %i %C@ %u\n' | grep -v -e '-shm' -e '-wal' -e 'home/env ' | sort >before
	strata log >/dev/null
	strata cat HEAD:etc/passwd >/dev/null
	strata grep root HEAD >/dev/null
	find "$place/home" -printf '%p %i %C@ %u\n' | grep -v -e '-shm' -e '-wal' -e 'home/env ' | sort | diff before -
	nothing_of_others
}

@test "root destroys a user's environment" {
	made_by_user overlay
	user "$STRATA" exec -q -- sh -c 'echo 1 >/root/file'
	strata destroy --yes >/dev/null
	[ ! -e "$STRATA_ROOT" ]
	nothing_of_others
}

@test "root that acts as a user has the groups of that user" {
	made_by_user copy
	printf 'root:x:0:0::/root:/bin/sh\nsomebody:x:%s:%s::/:/bin/sh\n' $USER_ID $USER_ID >passwd
	printf 'root:x:0:\nsomebody:x:%s:\nothers:x:54399:somebody\n' $USER_ID >group
	unshare --mount sh -c 'mount --bind passwd /etc/passwd && mount --bind group /etc/group && exec "$@"' \
		sh "$STRATA" exec -q -- sleep 50 3>&- &
	pid=$!
	acts() { grep -q "^Uid:.$USER_ID" /proc/$pid/status; }
	for _ in {1..200}; do ! acts || break; sleep 0.05; done
	grep '^Groups:' /proc/$pid/status >groups
	kill $pid
	wait $pid || true
	grep -qw 54399 groups
}
