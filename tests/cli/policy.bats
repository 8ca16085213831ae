# policy: describes policies, checks them, and composes two of them.
# shellcheck disable=SC2088 # a tilde is for strata
load helpers
load history

setup() {
	strata_setup
	cat >p.json <<-'END'
		{ "preset": "workspace",
		  "fs": { "allow_read_within_deny": ["~/.ssh/known_hosts"],
		          "deny_write_within_allow": ["$WORKSPACE/locked"] },
		  "net": { "mode": "allowlist", "allowed_domains": ["*.example.com", "git.example.org:22"],
		           "denied_domains": ["bad.example.com"] } }
	END
}

explain() { strata policy explain p.json --home /home/u --workspace /w "$@"; }

# refused TEXT MESSAGE: the policy TEXT is refused with this message.
refused() {
	printf '%s' "$1" >bad.json
	run -1 --separate-stderr strata policy check bad.json
	is "$output" ""
	is "${stderr_lines[0]}" "strata: bad.json: $2"
}

@test "policy check accepts a policy, from a file and from standard input" {
	is "$(strata policy check p.json)" "p.json: a policy"
	is "$(strata policy check - <p.json)" "-: a policy"
	is "$(strata policy check p.json --json | jq -c .)" '{"ok":true,"preset":"workspace","warnings":[]}'
}

@test "policy check needs no environment" {
	unset STRATA_ROOT HOME
	is "$(strata policy check p.json)" "p.json: a policy"
}

@test "policy check tells where the mistake is" {
	refused '{"fs": {' "not JSON: a key in double quotes is missing (line 1, column 9)"
	refused $'{"fs": {\n  "alow_read": []}}' \
		"fs.alow_read: no such key; the nearest is 'fs.allow_read' (line 2, column 3)"
	refused $'{"fs": {"allow_read": ["/a",\n  "src"]}}' \
		"fs.allow_read[1]: 'src' is not absolute, and does not begin with '~/' or '\$WORKSPACE/' (line 2, column 3)"
	refused '{"net": {"mode": "none", "allowed_domains": ["a.b"]}}' \
		"net.allowed_domains: only net.mode 'allowlist' uses it, and the mode is 'none' (line 1, column 26)"
	refused '{"limits": {"max_processes": -1}}' \
		"limits.max_processes: a limit is more than 0; without a limit it is null (line 1, column 13)"
	refused '{"preset": "wide"}' \
		"preset: 'wide' is not 'offline', 'open', 'readonly' or 'workspace' (line 1, column 2)"
}

@test "a mistake in standard input is told as such" {
	run -1 --separate-stderr strata policy check - <<<'{"x": 1}'
	is "$stderr" "strata: standard input: x: no such key; the nearest is 'fs' (line 1, column 2)"
	run -1 --separate-stderr strata policy explain - <<<'[]'
	is "$stderr" "strata: standard input: the policy: an object is needed, not a list (line 1, column 1)"
}

@test "what hinders no one is a warning" {
	echo '{"trust": "forbid", "fs": {"deny_write_within_allow": ["/b"]}}' >odd.json
	run -0 --separate-stderr strata policy check odd.json
	is "$output" "odd.json: a policy"
	is "$stderr" "strata: warning: fs.deny_write_within_allow: '/b' has no effect: fs.allow_write does not reach it
strata: warning: trust: 'forbid': no rule of this policy is enforced"
	is "$(strata policy check odd.json --json | jq '.warnings | length')" 2
}

@test "a file that is missing, a directory, too large a file" {
	run -1 --separate-stderr strata policy check none.json
	is "$stderr" "strata: no file 'none.json'"
	run -1 --separate-stderr strata policy check src
	is "$stderr" "strata: src: Is a directory"
	head -c 2000000 /dev/zero | tr '\0' ' ' >large.json
	run -1 --separate-stderr strata policy check large.json
	is "$stderr" "strata: large.json: a policy has at most 1048576 bytes"
}

@test "policy explain PATH says which rule decides" {
	is "$(explain /etc/passwd)" "read /etc/passwd: allowed
  rule: fs.allow_read: /"
	is "$(explain '~/.ssh/id_rsa')" "read /home/u/.ssh/id_rsa: denied
  rule: fs.deny_read: /home/u/.ssh
  to allow it: add '/home/u/.ssh/id_rsa' to fs.allow_read_within_deny"
	is "$(explain '~/.ssh/known_hosts')" "read /home/u/.ssh/known_hosts: allowed
  rule: fs.allow_read_within_deny: /home/u/.ssh/known_hosts"
	is "$(explain '$WORKSPACE/./a//b' --write)" "write /w/a/b: allowed
  rule: fs.allow_write: /w"
	is "$(explain /w/locked/x --write)" "write /w/locked/x: denied
  rule: fs.deny_write_within_allow: /w/locked
  to allow it: take '/w/locked' out of fs.deny_write_within_allow"
	is "$(explain /w/sub/.git/hooks/pre-commit --write)" "write /w/sub/.git/hooks/pre-commit: denied
  rule: always protected: git hooks, '/w/sub/.git/hooks'
  to allow it: name '/w/sub/.git/hooks' in fs.allow_write"
}

@test "policy explain HOST:PORT says which rule decides" {
	is "$(explain API.example.com:443)" "connect api.example.com port 443: allowed
  rule: net.allowed_domains: *.example.com"
	is "$(explain bad.example.com:443)" "connect bad.example.com port 443: denied
  rule: net.denied_domains: bad.example.com
  to allow it: take 'bad.example.com' out of net.denied_domains"
	is "$(explain 169.254.169.254:80)" "connect 169.254.169.254 port 80: denied
  rule: net.allowed_domains: no rule has an address of a cloud's metadata service
  to allow it: add '169.254.169.254' to net.allowed_domains"
	is "$(explain git.example.org --json | jq -c '.verdicts[] | [.host, .port, .allowed]')" \
		'["git.example.org",22,true]
["git.example.org",80,false]
["git.example.org",443,false]'
}

@test "policy explain --json has the resolved policy, too" {
	explain /w/x --write --json >out.json
	is "$(jq -c '.verdicts' out.json)" \
		'[{"access":"write","path":"/w/x","allowed":true,"rule":"fs.allow_write: /w","remedy":null}]'
	is "$(jq -r '[.preset, .home, .workspace, .policy.fs.allow_write[]] | join(" ")' out.json)" "workspace /home/u /w /w /tmp"
}

@test "policy explain prints the whole policy in sentences" {
	explain >out.txt
	grep -qx "It may read every file." out.txt
	grep -q "^It may not read /home/u/.ssh, /home/u/.gnupg, " out.txt
	grep -qx "It may read nevertheless /home/u/.ssh/known_hosts." out.txt
	grep -qx "It may write /w and /tmp." out.txt
	grep -qx "It may not write /w/locked." out.txt
	grep -qx "Protected in every '.git', unless fs.allow_write names it, as git hooks: hooks." out.txt
	grep -q "^Protected in the home directory, unless fs.allow_write names it, as shell start-up files: .bashrc, " out.txt
	grep -qx "Protected in every directory, unless fs.allow_write names it, as editor configuration: .vscode and .idea." out.txt
	grep -qx "It can reach \*.example.com and git.example.org:22." out.txt
	grep -qx "It cannot reach bad.example.com." out.txt
	grep -qx "It may make sandboxes of its own." out.txt
	is "$(explain --json | jq -r '.statements[]')" "$(cat out.txt)"
}

@test "rules that no kernel enforces are said to be" {
	echo '{"preset":"open","net":{"unix_sockets":["/run/x.sock"]}}' >sockets.json
	run -0 --separate-stderr strata policy check sockets.json
	[[ $output$stderr = *"net.unix_sockets: not enforced: a program can connect to every UNIX socket whose file it can see"* ]]
	run -0 strata policy explain sockets.json
	[[ $output = *"It may connect to the UNIX sockets /run/x.sock, but that is not enforced."* ]]
	[[ $output = *"It can connect to every UNIX socket whose file it can see."* ]]
}

@test "home and workspace are those of the caller by default" {
	is "$(strata policy explain p.json '~' | head -n 1)" "read $HOME: allowed"
	cd src
	is "$(strata policy explain ../p.json '$WORKSPACE/a' --write | head -n 1)" "write $PWD/a: allowed"
}

@test "policy compose prints a policy that allows what both allow" {
	cat >q.json <<-'END'
		{ "fs": { "allow_write": ["$WORKSPACE/src", "/srv"] },
		  "net": { "mode": "allowlist", "allowed_domains": ["api.example.com"] },
		  "limits": { "max_processes": 10 } }
	END
	strata policy compose p.json q.json >both.json
	is "$(jq -c .fs.allow_write both.json)" '["$WORKSPACE/src"]'
	is "$(jq -c .net.allowed_domains both.json)" '["api.example.com"]'
	is "$(jq -c .net.denied_domains both.json)" '["bad.example.com"]'
	is "$(jq -c .limits.max_processes both.json)" 10
	is "$(strata policy check both.json)" "both.json: a policy"
	is "$(strata policy compose p.json q.json --json)" "$(cat both.json)"
	is "$(strata policy compose both.json both.json)" "$(cat both.json)"
	is "$(strata policy compose - q.json <p.json)" "$(cat both.json)"
}

@test "every preset is a policy, and open with it is no wider" {
	for preset in workspace readonly offline open; do
		echo "{\"preset\": \"$preset\"}" >one.json
		echo '{"preset": "open"}' >open.json
		strata policy compose one.json one.json >alone.json
		strata policy compose open.json one.json >with.json
		is "$(cat with.json)" "$(cat alone.json)"
	done
}

@test "policy: wrong usage is status 2 with one line" {
	run -2 --separate-stderr strata policy
	is "$stderr" "strata: policy: 'check', 'compose' or 'explain' is missing (see 'strata help policy')"
	run -2 --separate-stderr strata policy print
	is "$stderr" "strata: policy: 'check', 'compose' or 'explain' is needed, not 'print' (see 'strata help policy')"
	run -2 --separate-stderr strata policy check
	is "$stderr" "strata: policy: file is missing (see 'strata help policy')"
	run -2 --separate-stderr strata policy compose p.json
	is "$stderr" "strata: policy: child is missing (see 'strata help policy')"
	run -2 --separate-stderr strata policy compose - -
	is "$stderr" "strata: policy: only one of both policies can be standard input"
	run -2 --separate-stderr strata policy explain p.json src/file
	is "$stderr" "strata: policy: 'src/file' has a '/'; a rule has only host and port; a path begins with '/', '~/' or '\$WORKSPACE/'"
	run -2 --separate-stderr strata policy explain p.json '~root/x'
	is "$stderr" "strata: policy: only '~/' and '\$WORKSPACE/' are known, not '~root/x'"
	run -2 --separate-stderr strata policy explain p.json /a/../b
	is "$stderr" "strata: policy: '..' in '/a/../b'"
	run -2 --separate-stderr strata policy explain p.json a.example.com --write
	is "$stderr" "strata: policy: --write is for a path"
	run -2 --separate-stderr strata policy explain p.json /a --home rel
	is "$stderr" "strata: policy: the home is an absolute path"
	is "$(strata policy check --help)" "$(strata help policy)"
}

@test "what a policy holds cannot drive the terminal" {
	printf '{"fs": {"deny_read": ["/a\\u001b[2J"]}}' >esc.json
	strata policy explain esc.json $'/a\e[2J' >out.txt
	run -1 grep -q $'\e' out.txt
	printf '{"\\u001b[2J": 1}' >esc.json
	run -1 --separate-stderr strata policy check esc.json
	[[ $stderr != *$'\e'* ]]
}

@test "the remedy for a name that looks like a glob opens that name alone" {
	echo '{"fs":{"allow_read":["/"],"deny_read":["/secret"]}}' >p.json
	is "$(strata policy explain p.json '/secret/*' --json | jq -r '.verdicts[0].remedy')" \
		"add '/secret/\\*' to fs.allow_read_within_deny"
	echo '{"fs":{"allow_read":["/"],"deny_read":["/secret"],"allow_read_within_deny":["/secret/\\*"]}}' >p.json
	is "$(strata policy explain p.json '/secret/*' --json | jq '.verdicts[0].allowed')" true
	is "$(strata policy explain p.json /secret/key --json | jq '.verdicts[0].allowed')" false
}
