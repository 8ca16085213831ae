# fork and workspaces: several live trees of one environment.
load helpers
load history
load rootfs

setup() {
	strata_setup
	mini_rootfs src
	begin
	first=$(strata head)
}

@test "a fork has a tree and a HEAD of its own" {
	is "$(strata fork try)" try
	strata -w try exec -q -- sh -c 'echo forked >/root/file'
	run ! in_env cat /root/file
	is "$(strata head)" "$first"
	is "$(strata -w try exec -- cat /root/file)" forked
	STRATA_WORKSPACE=try run -0 strata head
	[ "$output" != "$first" ]
	is "$(strata workspaces --json | jq -c '[.workspaces[] | [.name, .backend, .running]]')" \
		'[["main","overlay",false],["try","overlay",false]]'
	clean
}

@test "a fork that nobody has worked in can be looked at, and takes little room" {
	strata fork try >/dev/null
	is "$(ls env/work/try)" stack
	is "$(strata -w try status --json | jq .dirty)" 0
	is "$(strata -w try diff HEAD work)" ""
	is "$(strata -w try cat work:usr/lib/one)" library
	is "$(strata -w try ls work: | sort)" "$(strata ls HEAD: | sort)"
	is "$(ls env/work/try)" stack
	strata -w try commit >/dev/null
	is "$(strata -w try head)" "$first"
	strata -w try exec -q -- sh -c 'echo 1 >/root/file'
	is "$(strata -w try cat HEAD:root/file)" 1
	strata -w try checkout "$first" >/dev/null
	run ! strata -w try exec -- cat /root/file
	# A fork whose upper was lost is not mistaken for a fork without changes.
	rm -r env/work/try/upper-*
	run -1 strata -w try status
}

@test "fork from another node, and back and forth" {
	do_in 'echo two >/root/file; rm /usr/lib/one'
	do_in 'rm /root/file'
	strata fork old "$first" >/dev/null
	strata fork middle HEAD~1 >/dev/null
	is "$(strata -w old exec -- cat /usr/lib/one)" library
	is "$(strata -w middle exec -- cat /root/file)" two
	run ! strata -w middle exec -- cat /usr/lib/one
	strata -w old checkout HEAD >/dev/null
	strata -w middle checkout "$first" >/dev/null
	is "$(strata -w middle exec -- cat /usr/lib/one)" library
}

@test "fork --count makes many, each its own" {
	strata fork --count 16 c >names
	is "$(wc -l <names)" 16
	is "$(head -1 names)" c1
	for i in 1 7 16; do
		strata -w c$i exec -q -- sh -c "echo $i >/root/me; [ \$(cat /usr/lib/one) = library ]"
	done
	for i in 1 7 16; do is "$(strata -w c$i exec -- cat /root/me)" $i; done
	run ! strata -w c2 exec -- cat /root/me
	is "$(strata fork --count 2 d --json | jq -c .workspaces)" '["d1","d2"]'
}

@test "fork refuses names that are taken or wrong" {
	strata fork try >/dev/null
	run -1 --separate-stderr strata fork try
	[[ $stderr == *"'try' already"* ]]
	run -2 strata fork a/b
	run -2 strata fork store
	run -1 strata fork other no-such-node
	run -1 strata fork other work
	usage strata fork
	usage strata fork --count 5000 x
	is "$(strata workspaces | wc -l)" 2
}

@test "workspaces delete takes the live tree, not the nodes" {
	strata fork try >/dev/null
	strata -w try exec -q -- sh -c 'echo kept >/root/file'
	node=$(strata -w try head)
	strata -w try exec --no-commit -- sh -c 'sleep 1000 </dev/null >/dev/null 2>&1 &'
	is "$(strata workspaces delete try)" "deleted workspace try"
	is "$(strata workspaces --json | jq -c '[.workspaces[].name]')" '["main"]'
	[ ! -e env/work/try ]
	is "$(strata cat "$node:root/file")" kept
	run -1 --separate-stderr strata -w try head
	run -1 strata workspaces delete try
	run -1 --separate-stderr strata workspaces delete main
	run -2 strata workspaces delete
	run -2 strata workspaces remove x
	strata fork try >/dev/null
	is "$(strata -w try head)" "$first"
}

@test "two agents at once, each on its fork" {
	strata fork --count 2 a >/dev/null
	for i in 1 2; do
		(for n in 1 2 3 4 5; do strata -w a$i exec -q -- sh -c "echo $n >/root/n$n"; done) 3>&- &
	done
	wait
	for i in 1 2; do is "$(strata -w a$i exec -- ls /root | wc -l)" 5; done
	strata fsck >/dev/null
}
