# grant, revoke: a running command under a policy gets further access, and loses it again.
load helpers
load history
load rootfs
load owner

setup() {
	strata_setup
	mini_rootfs src
	cp "$TOOLS/peer-static" src/peer
	mkdir -p src/srv/secret/deep src/srv/plain/sub src/srv/repo/.git/hooks src/w
	echo key >src/srv/secret/key
	echo deep >src/srv/secret/deep/file
	echo token >src/srv/token
	ln -s secret src/srv/link
	jobs=
}

teardown() {
	for job in $jobs; do kill -KILL "$job" 2>/dev/null || true; done
	strata checkout HEAD >/dev/null 2>&1 || true
	end_owner
}

# policy [JSON of members]: make a policy under which everything but /srv/secret may be read, and
# only /w may be written.
policy() {
	echo '{"fs":{"allow_read":["/"],"deny_read":["/srv/secret"],"allow_write":["/w"],"grantable":['"$1"']}'"${2:+,$2}"'}' >policy.json
}

# under NAME COMMAND...: run a command in the background, and wait until it has begun.  NAME.out is
# its output.
under() {
	local name=$1
	shift
	"$STRATA" exec --no-commit --policy policy.json --denials "$PWD/denials" -- "$@" \
		>"$name.out" 2>"$name.err" </dev/null 3>&- &
	job=$!
	jobs="$jobs $job"
	wait_for started "$name"
}

started() { [ -s "$1.out" ]; }

# again COMMAND: print a loop that reports all the time whether the command works.
again() { echo "while sleep 0.02; do if $1 >/dev/null 2>&1; then echo yes; else echo no; fi; done"; }

# becomes NAME TEXT: wait until both of the last two lines are TEXT.
becomes() { wait_for said "$1" "$2"; }
said() { [ "$(tail -n 2 "$1.out")" = "$2"$'\n'"$2" ]; }

# stays NAME TEXT: the last line is TEXT, and so are the next three.
stays() {
	local before
	before=$(wc -l <"$1.out")
	wait_for longer "$1" $((before + 3))
	is "$(tail -n +$((before + 1)) "$1.out" | sort -u)" "$2"
}
longer() { [ "$(wc -l <"$1.out")" -ge "$2" ]; }

grant() { strata ctl grant "$@" >granted.json; }
revoke() { strata ctl revoke "$@" >revoked.json; }

# refused MESSAGE HINT ARGUMENT of ctl...: the request is refused with this message and hint.
refused() {
	local message=$1 hint=$2
	shift 2
	run --separate-stderr strata ctl "$@"
	[ "$status" -gt 0 ]
	is "$output" ""
	is "$stderr" "strata: $message${hint:+$'\n'hint: $hint}"
}

sockets() { find env/run -path '*.grants/*' | wc -l; }
no_sockets() { [ "$(sockets)" = 0 ]; }

@test "a path that is granted can be read at once, by a program that runs, and no more when it is revoked" {
	policy '"/srv/secret"'
	begin
	under job sh -c "$(again 'cat /srv/secret/key')"
	becomes job no
	grant path=/srv/secret mode=read
	is "$(jq -c '[.path, .mode, .host, .changed, .refused, (.commands | length)]' granted.json)" '["/srv/secret","read",null,1,0,1]'
	is "$(jq -c '.commands[0] | [.argv[0], .changed, .rule, .error]' granted.json)" '["sh",true,"fs.grantable: /srv/secret",null]'
	becomes job yes
	# A second grant of the same access changes nothing.
	grant path=/srv/secret mode=read
	is "$(jq .changed granted.json)" 0
	revoke path=/srv/secret
	is "$(jq -c '[.changed, .mode]' revoked.json)" '[1,null]'
	becomes job no
	refused "'/srv/secret' is not granted" "" revoke path=/srv/secret
	grant path=/srv/secret
	is "$(jq -r .mode granted.json)" read
	becomes job yes
	# Each change is a line in the denials.
	is "$(jq -r 'select(.what == "grant" or .what == "revoke") | [.what, .path, .access, .rule] | join(" ")' denials)" \
		"grant /srv/secret read mode=read by fs.grantable: /srv/secret
revoke /srv/secret read mode=read by fs.grantable: /srv/secret
grant /srv/secret read mode=read by fs.grantable: /srv/secret"
}

@test "a grant is no wider than what is asked for" {
	policy '"/srv/secret","/srv/plain"'
	begin
	under read sh -c "$(again 'cat /srv/secret/deep/file')"
	under beside sh -c "$(again 'cat /srv/secret/key')"
	under write sh -c "$(again 'echo x >/srv/secret/deep/new')"
	under plain sh -c "$(again 'echo x >/srv/plain/new')"
	under sub sh -c "$(again 'echo x >/srv/plain/sub/new')"
	grant path=/srv/secret/deep mode=read
	grant path=/srv/plain/sub mode=write
	is "$(jq .changed granted.json)" 5
	becomes read yes
	becomes sub yes
	for name in beside write plain; do stays $name no; done
	# Write access includes read access, and replaces it.
	grant path=/srv/secret/deep mode=write
	becomes write yes
	stays read yes
	stays beside no
	revoke path=/srv/secret/deep
	becomes write no
	becomes read no
	revoke path=/srv/plain/sub
	becomes sub no
}

@test "files that are open stay open when a grant is revoked" {
	policy '"/srv/secret"'
	begin
	under job sh -c 'echo begun; until cat /srv/secret/key; do sleep 0.02; done 2>/dev/null
		exec 5</srv/secret/key; echo open; until [ -e /w/go ]; do sleep 0.02; done; cat <&5; cat /srv/secret/key || echo denied'
	grant path=/srv/secret
	wait_for grep -q open job.out
	revoke path=/srv/secret
	in_env touch /w/go
	wait "$job"
	is "$(tail -n 2 job.out)" $'key\ndenied'
}

@test "where nothing exists but what the policy names, files and directories can be granted" {
	echo '{"fs":{"allow_read":["/bin","/usr"],"allow_write":["/w"],"grantable":["/srv/secret","/srv/token"]}}' >policy.json
	begin
	under file sh -c "$(again 'cat /srv/token')"
	under dir sh -c "$(again 'cat /srv/secret/key')"
	under deep sh -c "$(again 'echo x >/srv/secret/deep/new')"
	for name in file dir deep; do stays $name no; done
	grant path=/srv/token
	becomes file yes
	grant path=/srv/secret/deep mode=write
	becomes deep yes
	stays dir no
	grant path=/srv/secret
	becomes dir yes
	stays deep yes
	for path in /srv/token /srv/secret /srv/secret/deep; do revoke path=$path; done
	for name in file dir deep; do becomes $name no; done
	refused "the policy has no grant for it: fs.grantable: no rule has '/srv/plain'" \
		"name '/srv/plain' in fs.grantable of the policy, and start the command again" grant path=/srv/plain
	# If accesses to masks can be reported, the report names the grant that would allow the
	# access.
	[ ! -w /dev/fuse ] || is "$(jq -r 'select(.path == "/srv/token" and .what == "read") | .remedy' denials | sort -u)" \
		"run 'strata ctl grant path=/srv/token mode=read'"
}

@test "what the policy does not offer is refused, with the rule" {
	again=", and start the command again"
	echo '{"fs":{"allow_read":["/"],"deny_read":["/srv/secret"],"allow_write":["/w"],"deny_write_within_allow":["/srv/plain/sub"],
		"grantable":["/srv","/srv/later","/proc","/w"]}}' >policy.json
	begin
	under job sh -c "$(again 'cat /srv/secret/key')"
	no="the policy has no grant for it"
	refused "$no: fs.grantable: no rule has '/etc'" "name '/etc' in fs.grantable of the policy$again" grant path=/etc mode=write
	# A rule about a larger place lifts no denial, and lifts no protection of a name.
	refused "$no: fs.deny_read: /srv/secret" "name '/srv/secret' in fs.grantable of the policy$again" grant path=/srv/secret
	refused "$no: fs.deny_read: /srv/secret" "name '/srv/secret/key' in fs.grantable of the policy$again" grant path=/srv/secret/key
	refused "$no: fs.deny_write_within_allow: /srv/plain/sub" "name '/srv/plain/sub' in fs.grantable of the policy$again" \
		grant path=/srv/plain/sub mode=write
	refused "$no: always protected: git hooks" "name '/srv/repo/.git/hooks' in fs.grantable of the policy$again" \
		grant path=/srv/repo/.git/hooks mode=write
	refused "'/proc/sys' has files of the kernel" "" grant path=/proc/sys mode=write
	refused "'/srv/link' leads through a symbolic link, to '/srv/secret'" "" grant path=/srv/link mode=write
	refused "no file '/srv/no' to change" "" grant path=/srv/no mode=write
	refused "hosts are granted only with net.mode 'allowlist', and it is 'none'" \
		"set net.mode to 'allowlist' and name the host in net.grantable" grant host=a.b
	refused "'relative' is no absolute path" "" grant path=relative
	refused "'/' is not granted as a whole" "" grant path=/ mode=write
	for path in /srv/../etc /srv//x /srv/./x /srv/; do
		refused "'$path' has an empty name, '.' or '..' in it" "" grant path=$path
	done
	refused "'mode' must be 'read' or 'write'" "" grant path=/srv mode=execute
	for wrong in "path=/srv host=a.b" ""; do
		# shellcheck disable=SC2086 # two arguments, or none
		refused "either 'path' or 'host' is needed" "" grant $wrong
	done
	stays job no
	# The grant gives access to everything in the place except the denied places.
	grant path=/srv mode=write
	stays job no
	in_env true
	is "$(strata exec --no-commit --policy policy.json -- sh -c 'echo x >/srv/plain/new' 2>&1 | head -n 1)" \
		"sh: can't create /srv/plain/new: Read-only file system"
}

@test "what is protected in a directory that is granted stays protected, unless it is named" {
	policy '"/srv/repo","/srv/repo/.git/config"'
	echo '[core]' >src/srv/repo/.git/config
	begin
	under hook sh -c "$(again 'echo x >/srv/repo/.git/hooks/pre-commit')"
	under config sh -c "$(again 'echo x >>/srv/repo/.git/config')"
	under head sh -c "$(again 'echo x >/srv/repo/.git/HEAD')"
	under moved sh -c "$(again 'mv /srv/repo/.git /srv/repo/x')"
	grant path=/srv/repo mode=write
	becomes head yes
	for name in hook config moved; do stays $name no; done
	grant path=/srv/repo/.git/config mode=write
	becomes config yes
	stays hook no
}

@test "of several commands those can be chosen that are meant" {
	policy '"/srv/secret"'
	begin
	under one sh -c "$(again 'cat /srv/secret/key')"
	under two busybox sh -c "$(again 'cat /srv/secret/key')"
	under three /bin/sh -c "$(again 'cat /srv/secret/key')"
	grant path=/srv/secret command=busybox
	is "$(jq -c '[.changed, (.commands | length), .commands[0].argv[0]]' granted.json)" '[1,1,"busybox"]'
	becomes two yes
	stays one no
	stays three no
	grant path=/srv/secret command=sh
	is "$(jq .changed granted.json)" 2
	becomes three yes
	revoke path=/srv/secret command=/bin/sh
	becomes three no
	stays one yes
	pid=$(strata ps --json | jq '[.processes[] | select(.argv[0] == "/bin/sh") | .pid] | min')
	grant path=/srv/secret "pid=$pid"
	is "$(jq -r '.commands[].argv[0]' granted.json)" /bin/sh
	becomes three yes
	# A command that has nothing to revoke gets an answer, and the others are changed.
	revoke path=/srv/secret command=busybox
	revoke path=/srv/secret
	is "$(jq -c '[.changed, .refused, ([.commands[].error] | sort)]' revoked.json)" "[2,1,[null,null,\"'/srv/secret' is not granted\"]]"
	for name in one two three; do becomes $name no; done
	refused "no such command runs under a policy in workspace 'main'" "" grant path=/srv/secret command=cat
	refused "no such command runs under a policy in workspace 'main'" "" grant path=/srv/secret pid=1
}

@test "a host is granted within net.grantable, and its connections end when it is revoked" {
	begin
	"$TOOLS/peer" serve served >port 3>&- &
	jobs="$jobs $!"
	wait_for started_file port
	port=$(cat port)
	policy '"/w"' '"net":{"mode":"allowlist","denied_domains":["bad.example"],"grantable":["127.0.0.1:'"$port"'","*.example"]}'
	under job sh -c "while sleep 0.02; do /peer get 127.0.0.1 $port | grep -q served && echo yes || echo no; done"
	becomes job no
	is "$(jq -r 'select(.what == "connect") | .remedy' denials | sort -u)" "run 'strata ctl grant host=127.0.0.1:$port'"
	grant "host=127.0.0.1:$port"
	is "$(jq -c '[.host, .path, .changed, .commands[0].rule]' granted.json)" "[\"127.0.0.1:$port\",null,1,\"net.grantable: 127.0.0.1:$port\"]"
	becomes job yes
	grant "host=127.0.0.1:$port"
	is "$(jq .changed granted.json)" 0
	revoke "host=127.0.0.1:$port"
	becomes job no
	is "$(jq -r 'select(.what == "grant" or .what == "revoke") | [.what, .host, .port, .access] | @csv' denials)" \
		"\"grant\",\"127.0.0.1\",$port,
\"revoke\",\"127.0.0.1\",$port,"
	no="the policy has no grant for it"
	again="of the policy, and start the command again"
	refused "$no: net.grantable: no rule has 'other.org'" "name 'other.org' in net.grantable $again" grant host=other.org
	refused "$no: net.grantable: no rule has 'a.example:8080'" "name 'a.example:8080' in net.grantable $again" grant host=a.example:8080
	refused "$no: net.grantable: no rule has '*'" "name '*' in net.grantable $again" grant 'host=*'
	refused "$no: net.denied_domains: bad.example" "" grant host=bad.example
	refused "'mode' goes with 'path', and with 'grant'" "" grant host=a.example mode=read
	refused "'other.org' is not granted" "" revoke host=other.org
	grant host=A.example
	is "$(jq -r '.commands[0].rule' granted.json)" 'net.grantable: *.example'
	revoke host=a.example
}

started_file() { [ -s "$1" ]; }

@test "with an owner grants go through it, and subscribers hear of them" {
	policy '"/srv/secret"'
	begin
	own daemon
	"$STRATA" ctl --lines subscribe >events 3>&- &
	jobs="$jobs $!"
	wait_for grep -q '"subscribed":true' events
	strata ctl spawn policy=policy.json denials=denials no_commit=true argv=sh argv=-c argv="$(again 'cat /srv/secret/key') >/w/said" >spawned.json
	wait_for has_said no
	grant path=/srv/secret
	wait_for has_said yes
	refused "the policy has no grant for it: fs.grantable: no rule has '/etc' (-32011)" \
		"name '/etc' in fs.grantable of the policy, and start the command again" grant path=/etc mode=write
	revoke path=/srv/secret
	wait_for has_said no
	wait_for grep -q policy.revoked events
	is "$(jq -c 'select(.method == "policy.granted" or .method == "policy.revoked") | [.method, .params.path, .params.mode, .params.changed]' events)" \
		'["policy.granted","/srv/secret","read",1]
["policy.revoked","/srv/secret",null,1]'
	strata ctl kill "process=$(jq .process spawned.json)" signal=KILL >/dev/null
	wait_for no_sockets
	disown_env
}

has_said() { [ "$(in_env tail -n 1 /w/said 2>/dev/null)" = "$1" ]; }

@test "the agent of a supervisor is granted what it asks for" {
	policy '"/srv/secret"'
	begin
	own supervise --policy policy.json -- sh -c 'until cat /srv/secret/key; do sleep 0.02; done 2>/dev/null; sleep 0.2'
	wait_for grant path=/srv/secret
	ended 0
	grep -q '^key$' owner.out
	no_sockets
}

@test "the node of a command lists what was granted while it ran" {
	policy '"/srv/secret"'
	begin
	"$STRATA" exec --policy policy.json --json -- sh -c 'until cat /srv/secret/key; do sleep 0.02; done >/w/got 2>/dev/null' \
		>result.json 2>err </dev/null 3>&- &
	job=$!
	jobs="$jobs $job"
	wait_for grant path=/srv/secret
	wait "$job"
	is "$(jq -r '.denials[] | select(.what == "grant") | .subject + ", " + .rule' result.json)" "/srv/secret, mode=read by fs.grantable: /srv/secret"
	is "$(strata show HEAD --json | jq -r '.denials[] | select(.what == "grant") | .subject')" /srv/secret
	strata show HEAD | grep -qx 'grant    /srv/secret (mode=read by fs.grantable: /srv/secret)'
	no_sockets
}

@test "without a command under a policy nothing can be granted" {
	policy '"/srv/secret"'
	begin
	refused "no command runs under a policy in workspace 'main'" "" grant path=/srv/secret
	strata exec --no-commit --policy policy.json -- true
	strata exec --no-commit -- sh -c 'until [ -e /w/go ]; do sleep 0.02; done' 3>&- &
	jobs="$jobs $!"
	refused "no command runs under a policy in workspace 'main'" "" grant path=/srv/secret
	in_env touch /w/go
	no_sockets
}

# warden_of PID: print the process that a strata process has forked as the warden of its command.
warden_of() {
	local pid
	for pid in $(cat "/proc/$1/task/"*/children); do
		[ -z "$(find "/proc/$pid/fd" -lname '*eventpoll*' 2>/dev/null)" ] || echo "$pid"
	done
}

@test "a warden that was killed leaves a socket, which the next grant removes" {
	policy '"/srv/secret"'
	begin
	under job sh -c "$(again true)"
	under other sh -c "$(again 'cat /srv/secret/key')"
	is "$(sockets)" 2
	first=$(echo "$jobs" | awk '{print $1}')
	warden=$(warden_of "$first")
	[ -n "$warden" ]
	# The strata process of a killed warden removes the socket, so it is stopped here.
	kill -STOP "$first"
	kill -KILL "$warden"
	is "$(sockets)" 2
	grant path=/srv/secret
	is "$(jq -c '[.changed, (.commands | length)]' granted.json)" '[1,1]'
	becomes other yes
	is "$(sockets)" 1
	# strata is killed here, and possibly its warden with it.  The sockets must go away all the same.
	kill -KILL "$job"
	strata checkout HEAD >/dev/null 2>&1
	wait_for asked_in_vain
	no_sockets
}

asked_in_vain() { ! strata ctl grant path=/srv/secret >/dev/null 2>&1; }

@test "no program inside can grant itself anything, even if it gets at the socket" {
	policy '"/srv/secret"'
	begin
	under job sh -c "$(again 'cat /srv/secret/key')"
	socket=$(find env/run/main.grants -type s)
	is "$(stat -c '%a %F' env/run/main.grants "$socket")" $'700 directory\n600 socket'
	message='{"path":"/srv/secret"}'
	cd env/run/main.grants
	name=$(basename "$socket")
	# The same requests work outside.  Only malformed messages get an error.
	run -0 "$TOOLS/peer" ask "$name" '{"path":"/srv/plain"}'
	is "$(jq -c '[.changed, .rule]' <<<"$output")" '[false,"fs.allow_read: /"]'
	for text in '{' '[]' '{"path":1}' '{"path":"/x","evil":1}' '{"path":"/x\u0000y"}' '{}' ' '; do
		run -0 "$TOOLS/peer" ask "$name" "$text"
		is "$(jq -c '[.changed, (.code > 0)]' <<<"$output")" '[false,true]'
	done
	run -0 "$TOOLS/peer" ask "$name" ""
	is "$output" ""
	cd - >/dev/null
	# In the sandbox there is no such directory, even if the machine's files are bound.
	run -1 strata exec --no-commit --bind "$PWD:/mnt/host" -- ls "/mnt/host/env/run"
	# A program in the sandbox is refused even if it gets a descriptor of the directory.
	run strata exec --no-commit -- /peer ask "/proc/self/fd/0/$name" "$message" <env/run/main.grants
	[[ $output == *"a program in a sandbox asks"* || $output == *"connect: E"* ]]
	run strata exec --no-commit --policy policy.json -- /peer ask "/proc/self/fd/0/$name" "$message" <env/run/main.grants
	[[ $output == *"a program in a sandbox asks"* || $output == *"connect: E"* ]]
	stays job no
}

@test "root can grant what another user's command is offered, and a third user cannot" {
	need_root
	need setpriv
	policy '"/srv/secret"'
	place=$(mktemp -d /tmp/strata-grant.XXXXXX)
	mkdir "$place/env"
	cp "$STRATA" "$place/strata"
	mv src policy.json "$place"
	chown -R -h 54321:54321 "$place"
	chmod 755 "$place"
	export STRATA_ROOT=$place/env
	STRATA=$place/strata
	user() { setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all -- env HOME="$place" "$STRATA" "${@:2}"; }
	user 54321 init --from "$place/src" --backend copy >/dev/null
	user 54321 exec --no-commit --policy "$place/policy.json" -- sh -c "$(again 'cat /srv/secret/key')" >job.out 2>job.err </dev/null 3>&- &
	jobs=$!
	wait_for started job
	becomes job no
	run -1 user 54322 ctl grant path=/srv/secret
	stays job no
	grant path=/srv/secret
	becomes job yes
	user 54321 ctl revoke path=/srv/secret >/dev/null
	becomes job no
	user 54321 checkout HEAD >/dev/null 2>&1
	rm -rf --one-file-system "$place"
}
