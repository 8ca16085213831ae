/* Tests of git.c: it agrees with the git program, and runs no program that a repository names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle/git.h"

/* --- helpers --- */

static char *top; /* of the current test; the repository is in top/r */

/*
 * Run a shell script in top.  git has no settings of a user, and files get times that are not racy.
 */
static void sh(const char *script)
{
	owned_mem char *command = mem_printf(
		"cd '%s' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
		"GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x "
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=init.defaultBranch GIT_CONFIG_VALUE_0=main\n"
		"set -e\n"
		"age() { find r -type f ! -path '*/.git/*' -exec touch -d '1 hour ago' {} +; }\n"
		"%s",
		top, script);

	if (system(command) != 0)
		fail_msg("failed: %s", script);
}

static int set_up(void **state)
{
	char template[] = "/tmp/git_test.XXXXXX";

	(void)state;
	top = mem_strdup(mkdtemp(template));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sh("chmod -R u+rwX . && rm -rf \"$PWD\"");
	free(top);
	return 0;
}

static void git_closep(struct git **git)
{
	git_close(*git);
}

static struct git *open_named(const char *name)
{
	owned_mem char *root = mem_printf("%s/%s", top, name);
	struct err err;
	struct git *git = git_open(root, &err);

	if (!git)
		fail_msg("%s", err.text);
	return git;
}

static void classify(struct git *git, const char *path, struct git_file *file)
{
	owned_mem char *full = mem_printf("%s/r/%s", top, path);
	struct statx stx;
	struct err err;
	bool there = statx(AT_FDCWD, full, AT_SYMLINK_NOFOLLOW, AT_STATX_MASK, &stx) == 0;

	if (git_classify(git, path, there ? &stx : NULL, file, &err) < 0)
		fail_msg("%s", err.text);
}

/* State as letters: t tracked, d dirty, i ignored. */
static void assert_is(struct git *git, const char *path, const char *want)
{
	struct git_file file;
	char have[4], *to = have;

	classify(git, path, &file);
	if (file.tracked)
		*to++ = 't';
	if (file.dirty)
		*to++ = 'd';
	if (file.ignored)
		*to++ = 'i';
	*to = '\0';
	if (strcmp(have, want) != 0)
		fail_msg("'%s' is '%s', not '%s'", path, have, want);
}

static int gather(void *arg, const void *bytes, size_t len, struct err *err)
{
	(void)err;
	buf_add(arg, bytes, len);
	return 0;
}

static void assert_content(struct git *git, const char *oid, const char *want)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err;

	if (git_content(git, oid, gather, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(out.len, strlen(want));
	assert_memory_equal(out.data ?: "", want, out.len);
}

#define BASE                                                                                       \
	"git init -q r && cd r && mkdir -p d/e && echo one >a && echo two >d/e/b && : >empty && "  \
	"echo run >x && chmod 755 x && ln -s a link && printf '*.o\\nout/\\n' >.gitignore && "     \
	"git add . && git commit -qm one && cd .. && age && git -C r update-index --refresh\n"

/* --- tests --- */

static void knows_clean_files(void **state)
{
	static const char *const clean[] = { "a", "d/e/b", "empty", "x", "link", ".gitignore" };
	struct git_file file;

	(void)state;
	sh(BASE "git -C r rev-parse HEAD | tr -d '\\n' >head; git -C r rev-parse :a >oid");
	owned(git_closep) struct git *git = open_named("r");
	for (size_t i = 0; i < sizeof(clean) / sizeof(*clean); i++)
		assert_is(git, clean[i], "t");
	assert_int_equal(strlen(git_head(git)), 40);
	classify(git, "d/e/b", &file);
	assert_content(git, file.oid, "two\n");
	assert_true(git_has(git, file.oid));
}

static void knows_changes(void **state)
{
	static const struct {
		const char *path, *want;
	} cases[] = {
		{ "a", "td" },     /* same size, other content */
		{ "d/e/b", "td" }, /* staged */
		{ "empty", "td" }, /* deleted */
		{ "x", "td" },     /* not executable */
		{ "link", "td" },  /* other target */
		{ ".gitignore", "t" },
		{ "new", "" },
		{ "d/e/x.o", "i" },
		{ "out", "i" },
		{ "out/y", "i" },
		{ "d", "" },
		{ "", "" },
		{ "none", "" },
		{ "none.o", "i" },
		{ "added", "td" },
		{ "kept.o", "td" },
	};

	(void)state;
	sh(BASE "cd r; echo One >a; echo TWO >d/e/b; git add d; rm empty; chmod 644 x\n"
		"ln -sf b link; touch .gitignore new d/e/x.o added kept.o; mkdir out; touch out/y\n"
		"git add added; git add -f kept.o");
	owned(git_closep) struct git *git = open_named("r");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_is(git, cases[i].path, cases[i].want);
}

static void hashes_where_times_do_not_settle(void **state)
{
	(void)state;
	sh(BASE "cd r; touch a; echo TWO >d/e/b; touch -d '1 hour ago' d/e/b\n"
		"echo aaa >racy; git add racy; git commit -qm racy; echo bbb >racy\n"
		"touch -r .git/index racy; git update-index -q --refresh || :; echo ccc >racy\n"
		"touch -r .git/index racy");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "a", "t");
	assert_is(git, "d/e/b", "td");
	assert_is(git, "racy", "td");
}

static void a_type_that_changed_is_dirty(void **state)
{
	(void)state;
	sh(BASE "cd r; rm a x link; mkdir a; mkfifo x; echo a >link; rm -r d; ln -s /etc d");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "a", "td");
	assert_is(git, "x", "td");
	assert_is(git, "link", "td");
	assert_is(git, "d/e/b", "td");
	assert_is(git, "d", "");
}

static void line_ends_are_filtered_but_content_is_not(void **state)
{
	struct git_file file;
	struct err err;

	(void)state;
	sh(BASE "cd r; echo '*.txt text' >.gitattributes; printf 'x\\r\\ny\\r\\n' >w.txt\n"
		"git add . 2>/dev/null; git commit -qm crlf; printf 'x\\ny\\r\\n' >w.txt");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "w.txt", "t");
	classify(git, "w.txt", &file);
	assert_content(git, file.oid, "x\ny\n");
	owned_mem char *path = mem_printf("%s/r/w.txt", top);
	owned_fd int fd = at_open_given(path, O_RDONLY, 0, &err);
	assert_int_equal(git_is_content(git, file.oid, fd, &err), 0);
	sh("printf 'x\\ny\\n' >r/w.txt");
	owned_fd int again = at_open_given(path, O_RDONLY, 0, &err);
	assert_int_equal(git_is_content(git, file.oid, again, &err), 1);
}

static void a_repository_without_commits(void **state)
{
	(void)state;
	sh("git init -q r; cd r; echo a >a; echo b >b; git add a");
	owned(git_closep) struct git *git = open_named("r");
	assert_string_equal(git_head(git), "");
	assert_is(git, "a", "td");
	assert_is(git, "b", "");
}

static void conflicts_and_promises_are_dirty(void **state)
{
	struct git_file file;

	(void)state;
	sh(BASE "cd r; git checkout -qb other; echo other >a; git commit -qam other\n"
		"git checkout -q main; echo main >a; git commit -qam main\n"
		"! git merge -q other >/dev/null; touch later; git add -N later");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "a", "td");
	classify(git, "a", &file);
	assert_string_equal(file.oid, "");
	assert_is(git, "later", "td");
	assert_is(git, "x", "t");
}

static void a_linked_work_tree(void **state)
{
	(void)state;
	sh(BASE "mv r main; git -C main worktree add -q ../r -b two 2>/dev/null\n"
		"echo more >>r/a; age; git -C r update-index -q --refresh || :\n"
		"git -C main config extensions.worktreeConfig true");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "x", "t");
	assert_is(git, "a", "td");
	assert_int_equal(strlen(git_head(git)), 40);
}

static void submodules_are_what_their_head_says(void **state)
{
	struct git_file file;

	(void)state;
	sh(BASE "mv r sub; " BASE
		"cd r; git -c protocol.file.allow=always submodule -q add ../sub s 2>/dev/null\n"
		"git -c protocol.file.allow=always submodule -q add ../sub t 2>/dev/null\n"
		"git commit -qm subs; cd t; echo z >z; git add z; git commit -qm z");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "s", "t");
	assert_is(git, "t", "td");
	classify(git, "s", &file);
	assert_string_equal(file.oid, "");
	owned(git_closep) struct git *inner = open_named("r/t");
	assert_int_equal(strlen(git_head(inner)), 40);
}

static void a_sparse_checkout_is_not_dirty(void **state)
{
	(void)state;
	sh(BASE "cd r; git sparse-checkout set --no-cone --no-sparse-index '/*' '!/d'; test ! -e "
		"d/e/b");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "d/e/b", "t");
	assert_is(git, "a", "t");
}

static void packed_objects_are_found(void **state)
{
	struct git_file file;
	struct err err;

	(void)state;
	sh(BASE "cd r; git gc -q; git pack-refs --all");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "d/e/b", "t");
	classify(git, "d/e/b", &file);
	assert_content(git, file.oid, "two\n");
	char oid[GIT_OID_HEX];
	assert_int_equal(git_find(git, git_head(git), "d/e/b", oid, &err), 0);
	assert_string_equal(oid, file.oid);
	assert_int_equal(git_find(git, git_head(git), "d/e", oid, &err), -ERR_NOT_FOUND);
	assert_int_equal(git_find(git, git_head(git), "no/such", oid, &err), -ERR_NOT_FOUND);
	assert_int_equal(git_find(git, "zz", "a", oid, &err), -ERR_INVALID);
	assert_int_equal(git_content(git, git_head(git), gather, NULL, &err), -ERR_NOT_FOUND);
	assert_false(git_has(git, "0123456789012345678901234567890123456789"));
	assert_false(git_has(git, "short"));
}

static void what_is_no_repository(void **state)
{
	static const struct {
		const char *name;
		enum err_code code;
		const char *text;
	} cases[] = {
		{ "none", ERR_NOT_FOUND, "no file" },
		{ "plain", ERR_NOT_FOUND, "no git repository" },
		{ "plain/below", ERR_NOT_FOUND, "no git repository" },
		{ "bare", ERR_NOT_FOUND, "no git repository" },
		{ "r/.git", ERR_NOT_FOUND, "work tree elsewhere" },
		{ "r/d", ERR_NOT_FOUND, "no git repository" },
		{ "away", ERR_NOT_FOUND, "work tree elsewhere" },
		{ "broken", ERR_CORRUPT, "is damaged" },
	};

	(void)state;
	sh(BASE "mkdir -p plain/below; git init -q --bare bare; git init -q away\n"
		"git -C away config core.worktree /etc\n"
		"cp -r r broken; echo rubbish >broken/.git/index");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		owned_mem char *root = mem_printf("%s/%s", top, cases[i].name);
		struct err err = { 0 };

		assert_null(git_open(root, &err));
		if (err.code != cases[i].code || !strstr(err.text, cases[i].text))
			fail_msg("%s: %s", cases[i].name, err.text);
	}
}

/*
 * libgit2 1.5 leaks memory when it looks for extensions of the format.  Hide these leaks, since
 * they are not in strata.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libgit2\nleak:libpcre2\n";
}

static void extensions_of_the_format(void **state)
{
	const char *preloaded = getenv("LD_PRELOAD");
	struct err err = { 0 };

	(void)state;
	if (preloaded && strstr(preloaded, "vgpreload")) {
		printf("# skip: valgrind\n");
		skip();
	}
	sh(BASE "cd r; git config core.repositoryformatversion 1\n"
		"git config extensions.partialClone origin; git config extensions.worktreeConfig "
		"true\n"
		"cd ..; git init -q --object-format=sha256 new");
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "a", "t");
	owned_mem char *root = mem_printf("%s/new", top);
	assert_null(git_open(root, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "SHA-256"));
}

/*
 * The settings of the repository name a program wherever they can.  The program makes the file
 * 'marker'.
 */
static void nothing_is_run(void **state)
{
	(void)state;
	sh(BASE "cat >evil <<-EOF\n#!/bin/sh\ntouch '$PWD/marker'\ncat\nEOF\n"
		"chmod 755 evil; cd r; echo '*.dat filter=evil diff=evil' >.gitattributes\n"
		"echo data >f.dat; git add .; git commit -qm data\n"
		"git config core.fsmonitor \"$PWD/../evil\"; git config core.hooksPath "
		"\"$PWD/../hooks\"\n"
		"git config filter.evil.clean \"$PWD/../evil\"; git config filter.evil.required "
		"true\n"
		"git config filter.evil.smudge \"$PWD/../evil\"; git config diff.evil.textconv "
		"\"$PWD/../evil\"\n"
		"git config core.pager \"$PWD/../evil\"; git config core.sshCommand "
		"\"$PWD/../evil\"\n"
		"git config core.editor \"$PWD/../evil\"; git config core.askPass "
		"\"$PWD/../evil\"\n"
		"git config remote.origin.promisor true; git config remote.origin.url "
		"\"ext::$PWD/../evil\"\n"
		"git config credential.helper "
		"\"$PWD/../evil\"\n"
		"mkdir ../hooks; for h in post-index-change post-checkout fsmonitor-watchman "
		"pre-commit; do\n"
		"cp ../evil ../hooks/$h; cp ../evil .git/hooks/$h; done; echo DATA >f.dat; touch "
		"f2.dat");
	owned(git_closep) struct git *git = open_named("r");
	struct err err;
	assert_is(git, "f.dat", "td");
	assert_is(git, "f2.dat", "");
	assert_is(git, "a", "t");
	assert_is(git, "x.o", "i");
	assert_int_equal(
		git_content(git, "0123456789012345678901234567890123456789", gather, NULL, &err),
		-ERR_NOT_FOUND);
	sh("test ! -e marker");
	/* git itself runs the program */
	sh("git -C r status >/dev/null 2>&1 </dev/null || :; test -e marker");
}

static void others_repositories_and_settings_do_not_stop_us(void **state)
{
	(void)state;
	sh(BASE "cd r; git config include.path /nonexistent/settings; git config core.fileMode "
		"false\n"
		"chmod 644 x");
	if (geteuid() == 0)
		sh("chown -R 12345:12345 r");
	assert_int_equal(unsetenv("HOME"), 0);
	owned(git_closep) struct git *git = open_named("r");
	assert_is(git, "a", "t");
	assert_is(git, "x", "t");
}

static void the_usual_question_is_cheap(void **state)
{
	struct timespec from, to;
	struct git_file file;
	struct statx stx;
	struct err err;

	(void)state;
	sh(BASE);
	owned(git_closep) struct git *git = open_named("r");
	owned_mem char *path = mem_printf("%s/r/d/e/b", top);
	assert_int_equal(statx(AT_FDCWD, path, 0, AT_STATX_MASK, &stx), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(git_classify(git, "d/e/b", &stx, &file, &err), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	double us =
		((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		1e3 / 10000;
	print_message("# %.2f us a question\n", us);
	assert_true(us < 200); /* the limit allows for valgrind on a busy machine */
	assert_false(file.dirty);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(knows_clean_files),
		TEST(knows_changes),
		TEST(hashes_where_times_do_not_settle),
		TEST(a_type_that_changed_is_dirty),
		TEST(line_ends_are_filtered_but_content_is_not),
		TEST(a_repository_without_commits),
		TEST(conflicts_and_promises_are_dirty),
		TEST(a_linked_work_tree),
		TEST(submodules_are_what_their_head_says),
		TEST(a_sparse_checkout_is_not_dirty),
		TEST(packed_objects_are_found),
		TEST(what_is_no_repository),
		TEST(extensions_of_the_format),
		TEST(nothing_is_run),
		TEST(others_repositories_and_settings_do_not_stop_us),
		TEST(the_usual_question_is_cheap),
	};

	return cmocka_run_group_tests_name("git", tests, NULL, NULL);
}
