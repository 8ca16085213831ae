# names: every name at any depth is captured.  No name is ignored unless the user asks for this.
load helpers
load history

dirs=(sys dev proc tmp run mnt media lost+found .local .cache .git .hg .svn .strata node_modules
	__pycache__ target build env .env .DS_Store .Trash-0 CVS ... '~' -rf -- '*' '?' '[a]' '{a,b}' '#x#'
	'sp ace' ' lead' 'trail ' $'tab\t' $'nl\n' $'cr\r' $'\e[31m' $'\x01' $'\x7f' $'\xff\xfe' $'\xc3' '\' '"' "'" 'a:b' 'HEAD' 'work' 'é' 日本)

@test "directories of every name are captured, at the top and deep down" {
	for at in src src/a/b/c src/.git/x; do
		for d in "${dirs[@]}"; do
			mkdir -p -- "$at/$d/inner"
			echo "$at" >"$at/$d/file"
			echo "$at" >"$at/$d/inner/.hidden"
		done
	done
	begin
	same_tree src $W
	is "$(strata ls -r --json | jq '.entries | length')" "$(find src -mindepth 1 -printf x | wc -c)"
	rm -rf $W/.git $W/a $W/proc $W/.strata
	strata commit -m gone >/dev/null
	strata checkout HEAD~1 >/dev/null
	same_tree src $W
	clean
}

@test "files like editors' and tools' leavings are captured" {
	for f in .gitignore .strataignore core a.o a.pyc a~ .a.swp '#a#' .nfs0001 Thumbs.db .strata-tmp-1-1 .~lock; do
		echo '*' >"src/$f"
	done
	begin
	same_tree src $W
	is "$(strata status --json | jq -c .ignore)" '[]'
}

@test "a name of 255 bytes and one of every single byte" {
	touch "src/$(printf 'x%.0s' {1..255})"
	for i in {1..255}; do
		[ "$i" = 47 ] || touch "src/$(printf "\\x$(printf %02x "$i")x")"
	done
	begin
	same_tree src $W
	is "$(strata ls --json | jq '.entries | length')" 255
	clean
}

@test "--exclude leaves out by name at any depth" {
	mkdir -p src/a/build src/build src/a/keep
	touch src/a/x.o src/x.o src/a/keep/y.c src/build/z src/a/build/z
	begin --exclude '*.o' --exclude build
	is "$(strata ls -r --json | jq -c '[.entries[].name]')" '["a","a/keep","a/keep/y.c"]'
	is "$(cd $W && find . | sort | tr '\n' ' ')" ". ./a ./a/keep ./a/keep/y.c "
	is "$(strata status --json | jq -c .ignore)" '["*.o","build"]'
}

@test "--exclude with a slash leaves out by path" {
	mkdir -p src/a/build src/build src/b/a/build
	touch src/a/build/x src/build/x src/b/a/build/x
	begin --exclude a/build --exclude '**/c'
	is "$(strata find HEAD x)" $'b/a/build/x\nbuild/x'
}

@test "what is excluded is not seen by status and commit" {
	begin --exclude '*.log'
	put x.log noise
	put d/y.log noise
	is "$(strata status --json | jq -c .dirty_paths)" '["d"]'
	strata commit -m d >/dev/null
	is "$(strata ls -r --json | jq -c '[.entries[].name]')" '["d"]'
	put x.log more
	clean
}

@test "what is excluded is not touched by checkout" {
	mkdir src/d
	echo one >src/d/f
	begin --exclude '*.log'
	echo mine >$W/d/mine.log
	echo mine >$W/top.log
	put d/f two
	strata commit -m two >/dev/null
	before=$(stat -c '%i %Z' $W/d/mine.log $W/top.log)
	strata checkout HEAD~1 >/dev/null
	is "$(cat $W/d/f)" one
	is "$(stat -c '%i %Z' $W/d/mine.log $W/top.log)" "$before"
	is "$(cat $W/d/mine.log $W/top.log)" $'mine\nmine'
}

@test "a directory that is to go but holds excluded files stays, and that is said" {
	begin --exclude '*.log'
	put d/f text
	put d/mine.log mine
	strata commit -m made >/dev/null
	run -1 --separate-stderr strata checkout HEAD~1
	is "$stderr" "strata: d could not be restored: kept: it holds files that are not in the history"
	is "$(ls $W/d)" mine.log
	is "$(cat $W/d/mine.log)" mine
}
