# find: lists the paths of a node that match a pattern.
load helpers
load history

setup() {
	strata_setup
	mkdir -p src/lib/deep/lib src/.git/objects
	touch src/main.c src/lib/a.c src/lib/deep/b.c src/lib/deep/lib/c.h src/.git/config "src/sp ace"
	begin
}

@test "a pattern without a slash is matched on the name" {
	is "$(strata find HEAD '*.c')" $'lib/a.c\nlib/deep/b.c\nmain.c'
	is "$(strata find HEAD lib)" $'lib\nlib/deep/lib'
	is "$(strata find HEAD '?.[ch]')" $'lib/a.c\nlib/deep/b.c\nlib/deep/lib/c.h'
	is "$(strata find HEAD '.*')" ".git"
	is "$(strata find HEAD 'sp*')" "sp ace"
	is "$(strata find HEAD none)" ""
}

@test "a pattern with a slash is matched on the path" {
	is "$(strata find HEAD 'lib/*.c')" "lib/a.c"
	is "$(strata find HEAD '/main.c')" "main.c"
	is "$(strata find HEAD 'lib/**')" $'lib/a.c\nlib/deep\nlib/deep/b.c\nlib/deep/lib\nlib/deep/lib/c.h'
	is "$(strata find HEAD '**/*.{c,h}')" $'lib/a.c\nlib/deep/b.c\nlib/deep/lib/c.h\nmain.c'
}

@test "find in the past and in the live tree" {
	rm $W/main.c
	touch $W/new.c
	is "$(strata find work '*.c')" $'lib/a.c\nlib/deep/b.c\nnew.c'
	node second
	is "$(strata find HEAD~1 main.c)" main.c
	is "$(strata find HEAD main.c)" ""
}

@test "find REF:PATH looks below a directory" {
	is "$(strata find HEAD:lib/deep '*')" $'lib/deep/b.c\nlib/deep/lib\nlib/deep/lib/c.h'
}

@test "find --json" {
	is "$(strata find HEAD 'c.h' --json | jq -c .)" \
		"{\"matches\":[{\"path\":\"lib/deep/lib/c.h\",\"name\":\"c.h\",\"type\":\"file\",\"size\":0}],\"ref\":\"$(strata head)\"}"
	is "$(strata find HEAD '*.c' --jsonl | jq -r .path)" $'lib/a.c\nlib/deep/b.c\nmain.c'
}

@test "find usage" {
	usage strata find
	usage strata find HEAD
	usage strata find HEAD a b
	run -1 strata find nowhere x
}
