# diff: lists the differences between two nodes, or between a node and the live tree.
load helpers
load history

@test "diff between nodes, in path order" {
	three
	is "$(strata diff "$one" "$three")" $'M\tall\n+\tthree\n+\ttwo'
	is "$(strata diff "$three" "$one")" $'M\tall\n-\tthree\n-\ttwo'
	is "$(strata diff "$one" "$one")" ""
	is "$(strata diff HEAD~1 HEAD --name-status)" $'M\tall\n+\tthree'
}

@test "diff against the live tree" {
	three
	is "$(strata diff HEAD)" ""
	put all changed
	put new new
	rm $W/one
	is "$(strata diff HEAD)" $'M\tall\n+\tnew\n-\tone'
	is "$(strata diff HEAD work)" $'M\tall\n+\tnew\n-\tone'
	is "$(strata diff work HEAD)" $'M\tall\n-\tnew\n+\tone'
	is "$(strata diff HEAD --json | jq -c '[.a, .b]')" "[\"$three\",\"work\"]"
	is "$(strata log | wc -l)" 4
}

@test "diff --stat counts" {
	three
	is "$(strata diff "$root" "$three" --stat)" "4 added, 0 modified, 0 deleted, 0 renamed"
	is "$(strata diff "$three" --stat)" "0 added, 0 modified, 0 deleted, 0 renamed"
}

@test "diff -- PATH looks at these paths only" {
	mkdir -p src/a/b src/ab
	echo 1 | tee src/a/b/x src/a/y src/ab/z >/dev/null
	begin
	echo 2 | tee $W/a/b/x $W/a/y $W/ab/z >/dev/null
	is "$(strata diff HEAD -- a)" $'M\ta/b/x\nM\ta/y'
	is "$(strata diff HEAD -- /a/b/ ab)" $'M\ta/b/x\nM\tab/z'
	is "$(strata diff HEAD -- .)" $'M\ta/b/x\nM\ta/y\nM\tab/z'
	is "$(strata diff HEAD -- none)" ""
}

@test "a rename is found by content" {
	mkdir src/dir
	seq 100 >src/old
	seq 200 >src/dir/f
	echo other >src/dir/g
	touch src/empty1
	begin
	mv $W/old $W/new
	mv $W/dir $W/moved
	mv $W/empty1 $W/empty2
	is "$(strata diff HEAD)" $'-\tempty1\n+\tempty2\nR\tdir -> moved\nR\told -> new'
	is "$(strata diff HEAD --json | jq -c '[.changes[] | select(.op == "R") | [.path, .new_path, .type, .what]]')" \
		'[["dir","moved","dir",[]],["old","new","file",[]]]'
}

@test "a rename with a change of mode says so; one with a change of content is none" {
	seq 100 | tee src/a src/b >/dev/null
	echo b >>src/b
	begin
	mv $W/a $W/a2
	chmod 600 $W/a2
	mv $W/b $W/b2
	echo more >>$W/b2
	is "$(strata diff HEAD)" $'R\ta -> a2  (mode)\n-\tb\n+\tb2'
}

@test "metadata changes are named" {
	echo x | tee src/content src/mode src/time src/attr src/both >/dev/null
	ln -s a src/link
	mkdir src/type
	begin
	echo y >$W/content
	chmod 640 $W/mode
	touch -d @1000000000 $W/time
	setfattr -n user.x -v y $W/attr || unavailable "no user attributes here"
	echo y >$W/both
	chmod 600 $W/both
	ln -sfn b $W/link
	rmdir $W/type
	touch $W/type
	is "$(strata diff HEAD)" "M	attr  (xattr)
M	both  (content, mode)
M	content
M	link  (target)
M	mode  (mode)
M	time  (mtime)
T	type  (mode, type)"
	is "$(strata diff HEAD --json | jq -r '.changes[] | "\(.path) \(.what - ["mtime"] | join(","))"')" 'attr xattr
both content,mode
content content
link target
mode mode
time 
type mode,type'
}

@test "a change of owner is named" {
	need_root
	touch src/file
	begin
	chown 1234:4321 $W/file
	is "$(strata diff HEAD)" $'M\tfile  (owner)'
}

@test "the mtime of a directory alone is not noise" {
	mkdir src/d
	touch src/d/f
	begin
	touch $W/d/new
	is "$(strata diff HEAD)" $'+\td/new'
	node new
	touch -d @1000000000 $W/d
	is "$(strata diff HEAD)" $'M\td  (mtime)'
}

@test "diff --patch is a unified diff that patch(1) applies" {
	seq 20 >src/file
	printf 'no newline' >src/tail
	echo gone >src/gone
	begin
	sed -i -e 's/^3$/three/' -e '/^17$/d' $W/file
	printf 'no newline still' >$W/tail
	rm $W/gone
	printf 'brand\nnew\n' >$W/new
	run -0 --separate-stderr strata diff HEAD --patch
	is "$output" '--- a/file
+++ b/file
@@ -1,6 +1,6 @@
 1
 2
-3
+three
 4
 5
 6
@@ -14,7 +14,6 @@
 14
 15
 16
-17
 18
 19
 20
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-gone
--- /dev/null
+++ b/new
@@ -0,0 +1,2 @@
+brand
+new
--- a/tail
+++ b/tail
@@ -1 +1 @@
-no newline
\ No newline at end of file
+no newline still
\ No newline at end of file'
	need patch
	cp -a src patched
	strata diff HEAD -p | patch -s -d patched -p1
	same_tree patched $W --no-mtime
}

@test "diff --patch agrees with diff(1) on random edits" {
	seq 300 | sed 's/$/ line/' >src/f
	begin
	for i in 1 2 3 4 5 6; do
		awk -v seed=$i 'BEGIN { srand(seed) } rand() < .05 { next } { print } rand() < .05 { print "added " NR }' $W/f >f2
		diff -u $W/f f2 | tail -n +3 >want || true
		cp f2 $W/f
		strata diff HEAD -p | tail -n +3 >got
		cp src/f check
		{ echo '--- a/f'; echo '+++ b/f'; cat got; } | patch -s check
		cmp check f2
		# The diff has at most as many changed lines as that of diff(1) --minimal.
		[ "$(grep -c '^[+-]' got)" -le "$(diff -u --minimal src/f f2 | tail -n +3 | grep -c '^[+-]')" ]
		strata checkout HEAD >/dev/null
		strata checkout "$(strata log --json | jq -r '.nodes[-1].id')" >/dev/null
	done
}

@test "binary and metadata changes in a patch are one line each" {
	printf 'a\0b' >src/binary
	echo x >src/mode
	begin
	printf 'a\0c' >$W/binary
	chmod 600 $W/mode
	is "$(strata diff HEAD -p)" $'M\tbinary  (binary or large content differs)\nM\tmode  (mode)'
}

@test "odd names are quoted, in patches too" {
	begin
	printf 'x\n' >$W/$'new\nline'
	printf 'x\ny\n' >$W/$'esc\e[31m'
	printf 'z\n' >$W/$'\xff'
	is "$(strata diff HEAD)" $'+\t"esc\\033[31m"\n+\t"new\\nline"\n+\t"\\377"'
	strata diff HEAD -p >patch.txt
	grep -qxF '+++ "b/new\nline"' patch.txt
	if grep -q $'\e' patch.txt; then return 1; fi
	is "$(strata diff HEAD --json | jq -r '.changes | length')" 3
}

@test "diff usage" {
	begin
	usage strata diff
	usage strata diff a b c
	run -1 strata diff nowhere
	run -1 strata diff HEAD nowhere
}
