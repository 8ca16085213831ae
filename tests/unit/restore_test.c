/*
 * Tests of restore: plans have the present state, nothing is changed against a plan, and a whole
 * state comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "parquet/pqwrite.h"
#include "trace/undo/restore.h"

/* --- helpers --- */

static char *top;     /* of the current test: top/bundle, and top/root where things are */
static int root = -1; /* top/root */

static void sh(const char *script)
{
	owned_mem char *command = mem_printf("cd '%s/root' && set -e; umask 022; %s", top, script);

	if (system(command) != 0)
		fail_msg("failed: %s", script);
}

static int set_up(void **state)
{
	char template[] = "/tmp/restore_test.XXXXXX";
	struct err err;

	top = mem_strdup(mkdtemp(template));
	owned_mem char *path = mem_printf("%s/root", top);
	assert_int_equal(mkdir(path, 0755), 0);
	root = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err);
	return root < 0;
}

static int tear_down(void **state)
{
	sh("chmod -R u+rwX .. && rm -rf ../*");
	close_fd(&root);
	(void)rmdir(top);
	free(top);
	return 0;
}

/* Make a bundle of these records.  It has the contents with the keys "a" and "b". */
static struct bundle *make_bundle(const char *records)
{
	static const char *const rows[][2] = { { "a", "after\n" }, { "b", "before\n" } };
	owned_mem char *path = mem_printf("%s/bundle", top);
	owned_mem char *text = mem_printf("{\"files\": [%s]}", records);
	struct err err = { 0 };

	(void)mkdir(path, 0755);
	owned_fd int dir = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err);
	owned_fd int manifest = at_create(dir, BUNDLE_MANIFEST, O_WRONLY | O_TRUNC, 0644, &err);
	assert_int_equal(at_write_all(manifest, text, strlen(text)), 0);
	owned_fd int blobs = at_create(dir, BUNDLE_BLOBS, O_RDWR | O_TRUNC, 0644, &err);
	owned(pqwrite_closep) struct pqwrite *table = pqwrite_open(blobs, PQWRITE_SNAPPY, &err);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pqwrite_row(table, str_of(rows[i][0]), rows[i][1],
					 strlen(rows[i][1]), &err),
			0);
	assert_int_equal(pqwrite_finish(table, &err), 0);
	struct bundle *bundle = bundle_open(dir, &err);
	if (!bundle)
		fail_msg("%s", err.text);
	return bundle;
}

static struct restore *plan(struct bundle *bundle, enum bundle_side side, bool force)
{
	struct restore_options options = { .root = root, .side = side, .force = force };
	struct err err = { 0 };
	struct restore *restore = restore_plan(bundle, &options, &err);

	if (!restore)
		fail_msg("%s", err.text);
	return restore;
}

static void apply(struct restore *restore)
{
	struct err err = { 0 };

	if (restore_apply(restore, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_action(const struct restore *restore, const char *path, enum restore_action want)
{
	for (size_t i = 0; i < restore->n_steps; i++) {
		const struct restore_step *step = &restore->steps[i];

		if (!str_eq(step->file->path, str_of(path)))
			continue;
		if (step->action != want)
			fail_msg("%s: %s, %s", path, restore_plan_action_name(step->action),
				step->reason ?: "");
		return;
	}
	fail_msg("%s is no step", path);
}

#define FILE_OF(key, mode)                                                                         \
	"{\"exists\": true, \"type\": \"file\", \"mode\": " #mode ", \"blob\": \"" key "\"}"
#define NONE "{\"exists\": false}"
#define DIR_OF(mode) "{\"exists\": true, \"type\": \"dir\", \"mode\": " #mode "}"
#define RECORD(path, before, after)                                                                \
	"{\"path\": \"" path "\", \"operations\": [\"write\"], \"before\": " before                \
	", \"after\": " after "}"
#define CHANGED RECORD("/x", FILE_OF("b", 33188), FILE_OF("a", 33188)) /* 0644 */

/* --- tests --- */

static void plans_by_what_is_there(void **state)
{
	static const struct {
		const char *script;
		enum bundle_side side;
		enum restore_action want;
	} cases[] = {
		{ "echo before >x", BUNDLE_AFTER, RESTORE_WRITE },
		{ "echo after >x", BUNDLE_AFTER, RESTORE_NOTHING },
		{ "echo after >x", BUNDLE_BEFORE, RESTORE_WRITE },
		{ "echo before >x; touch -d 1970-01-05 x", BUNDLE_AFTER, RESTORE_WRITE },
		{ "echo neither >x", BUNDLE_AFTER, RESTORE_CONFLICT },
		{ "echo before >x; chmod 600 x", BUNDLE_AFTER, RESTORE_CONFLICT },
		{ "rm -f x", BUNDLE_AFTER, RESTORE_CONFLICT },
		{ "mkdir x", BUNDLE_AFTER, RESTORE_CONFLICT },
		{ "ln -s before x", BUNDLE_AFTER, RESTORE_CONFLICT },
		{ "mkfifo x", BUNDLE_AFTER, RESTORE_CONFLICT },
	};
	owned(bundle_closep) struct bundle *bundle = make_bundle(CHANGED);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sh("rm -rf x");
		sh(cases[i].script);
		owned(restore_plan_freep) struct restore *restore =
			plan(bundle, cases[i].side, false);
		assert_action(restore, "/x", cases[i].want);
		assert_int_equal(restore->conflicts, cases[i].want == RESTORE_CONFLICT);
	}
}

static void conflicts_and_missing_contents_touch_nothing(void **state)
{
	struct err err = { 0 };
	owned(bundle_closep) struct bundle *bundle =
		make_bundle(CHANGED "," RECORD("/y", NONE, FILE_OF("a", 33188)) "," RECORD(
			"/z", NONE, "{\"exists\": true, \"type\": \"file\", \"size\": 3}"));

	sh("echo neither >x");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	assert_int_equal(restore_apply(restore, &err), -ERR_BUSY);
	sh("test ! -e y");
	owned(restore_plan_freep) struct restore *forced = plan(bundle, BUNDLE_AFTER, true);
	assert_action(forced, "/z", RESTORE_MISSING);
	assert_int_equal(restore_apply(forced, &err), -ERR_NOT_FOUND);
	sh("test ! -e y && test \"$(cat x)\" = neither");
}

static void what_changes_after_the_plan_is_kept(void **state)
{
	owned(bundle_closep) struct bundle *bundle = make_bundle(CHANGED "," RECORD(
		"/y", NONE, FILE_OF("a", 33188)) "," RECORD("/z", FILE_OF("b", 33188), NONE));

	sh("echo before >x; echo before >z");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	sh("echo later >x; echo later >y; echo later >z");
	apply(restore);
	assert_int_equal(restore->failed, 3);
	assert_int_equal(restore->restored + restore->deleted, 0);
	assert_string_equal(restore->steps[0].reason, "it was changed meanwhile");
	sh("test \"$(cat x y z | uniq)\" = later; test \"$(ls -A | wc -l)\" = 3");
}

static void times_of_directories_come_back(void **state)
{
	owned(bundle_closep) struct bundle *bundle = make_bundle(
		"{\"path\": \"/d\", \"before\": {\"exists\": true, \"type\": \"dir\", \"mode\": "
		"16877,"
		"\"mtime\": 1000000000}, \"after\": {\"exists\": true, \"type\": \"dir\", "
		"\"mode\": 16877,"
		"\"mtime\": 1100000000, \"mtime_ns\": 1100000000123456789}}," RECORD("/d/n", NONE,
			FILE_OF("a", 33188)) "," RECORD("/d/sub", NONE, DIR_OF(16877)));

	sh("mkdir d");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	apply(restore);
	assert_int_equal(restore->restored, 2);
	sh("test \"$(stat -c %.9Y d)\" = 1100000000.123456789");
	owned(restore_plan_freep) struct restore *back = plan(bundle, BUNDLE_BEFORE, false);
	apply(back);
	assert_int_equal(back->deleted, 2);
	sh("test \"$(stat -c %Y d)\" = 1000000000");
}

static void shut_directories_are_opened_for_the_time(void **state)
{
	owned(bundle_closep) struct bundle *bundle = make_bundle(
		RECORD("/d/e/x", FILE_OF("b", 33188), FILE_OF("a", 33188)) "," RECORD("/d/new",
			NONE, DIR_OF(16704)) "," RECORD("/d/new/f", NONE, FILE_OF("a", 33024)));

	sh("mkdir -p d/e; echo before >d/e/x; chmod 555 d/e; chmod 511 d");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	apply(restore);
	assert_int_equal(restore->failed, 0);
	sh("test \"$(stat -c %a d d/e d/new | xargs)\" = '511 555 500'; test \"$(cat d/e/x)\" = "
	   "after");
	sh("test \"$(stat -c %a d/new/f)\" = 400");
	owned(restore_plan_freep) struct restore *back = plan(bundle, BUNDLE_BEFORE, false);
	apply(back);
	assert_int_equal(back->failed, 0);
	sh("test \"$(stat -c %a d d/e | xargs)\" = '511 555'; test ! -e d/new");
}

static void a_directory_of_unknown_files_is_never_removed(void **state)
{
	owned(bundle_closep) struct bundle *bundle =
		make_bundle(RECORD("/x", FILE_OF("b", 33188), DIR_OF(16877)) "," RECORD(
			"/y", NONE, DIR_OF(16877)) "," RECORD("/y/z", NONE, DIR_OF(16877)));

	sh("mkdir -p x y/z; echo mine >x/mine; echo mine >y/z/mine");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_BEFORE, false);
	assert_action(restore, "/x", RESTORE_CONFLICT);
	assert_action(restore, "/y/z", RESTORE_SKIP);
	assert_action(restore, "/y", RESTORE_SKIP);
	owned(restore_plan_freep) struct restore *forced = plan(bundle, BUNDLE_BEFORE, true);
	assert_action(forced, "/x", RESTORE_SKIP);
	apply(forced);
	assert_int_equal(forced->skipped, 3);
	sh("test -e x/mine && test -e y/z/mine");
}

static void extended_attributes_come_and_go(void **state)
{
#define WITH(list)                                                                                 \
	"{\"exists\": true, \"type\": \"file\", \"size\": 0, \"mode\": 33188, \"xattrs\": " list "}"
	owned(bundle_closep) struct bundle *bundle =
		make_bundle(RECORD("/x", WITH("{\"user.old\": \"b2xk\", \"user.both\": \"MQ==\"}"),
			WITH("{\"user.new\": \"AP8=\", \"user.both\": \"Mg==\"}")));
	owned_mem char *path = mem_printf("%s/root/x", top);
	char value[16];

	sh(": >x");
	if (setxattr(path, "user.old", "old", 3, 0) < 0 && errno == ENOTSUP) {
		printf("# skip: no extended attributes here\n");
		skip();
	}
	assert_int_equal(setxattr(path, "user.mine", "m", 1, 0), 0);
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	assert_action(restore, "/x", RESTORE_ATTRIBUTES);
	apply(restore);
	assert_int_equal(getxattr(path, "user.old", value, sizeof(value)), -1);
	assert_int_equal(getxattr(path, "user.new", value, sizeof(value)), 2);
	assert_memory_equal(value, "\0\xff", 2);
	assert_int_equal(getxattr(path, "user.both", value, sizeof(value)), 1);
	assert_int_equal(value[0], '2');
	assert_int_equal(getxattr(path, "user.mine", value, sizeof(value)), 1);
}

static void a_second_name_is_linked_to_the_first(void **state)
{
#define LINKED                                                                                     \
	"{\"exists\": true, \"type\": \"file\", \"mode\": 33188, \"blob\": \"a\", \"links\": "     \
	"[\"/p\", \"/q\"]}"
	owned(bundle_closep) struct bundle *bundle =
		make_bundle("{\"path\": \"/p\", \"operations\": [\"read\"], \"before\": " FILE_OF(
			"a", 33188) ", \"after\": " LINKED "}," RECORD("/q", NONE, LINKED));

	sh("echo after >p");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);
	assert_int_equal(restore->n_steps, 1);
	apply(restore);
	sh("test \"$(stat -c %h p)\" = 2; test p -ef q");
}

static void owners_are_given_where_we_may(void **state)
{
	owned(bundle_closep) struct bundle *bundle = make_bundle(RECORD("/x", NONE,
		"{\"exists\": true, \"type\": \"file\", \"mode\": 35309, \"uid\": 12345, \"gid\": "
		"54321,"
		"\"blob\": \"a\"}"));
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, false);

	apply(restore);
	assert_int_equal(restore->failed, 0);
	if (geteuid() == 0)
		sh("test \"$(stat -c '%u %g %a' x)\" = '12345 54321 4755'");
	else
		sh("test \"$(stat -c %u x)\" = \"$(id -u)\"");
}

static void a_mode_that_is_not_recorded_is_the_usual_one(void **state)
{
	static const char anything[] = "{\"exists\": true, \"type\": \"file\", \"blob\": \"a\"}";
	owned_mem char *records =
		mem_printf("{\"path\": \"/x\", \"after\": %s},"
			   "{\"path\": \"/y\", \"before\": " FILE_OF(
				   "b", 33152) ", \"after\": %s},"
					       "{\"path\": \"/z\", \"after\": {\"exists\": true, "
					       "\"type\": \"dir\"}}",
			anything, anything);
	owned(bundle_closep) struct bundle *bundle = make_bundle(records);

	sh("echo before >y; chmod 600 y");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, true);
	mode_t old = umask(022);
	apply(restore);
	umask(old);
	sh("test \"$(stat -c %a x y z | xargs)\" = '644 600 755'; test \"$(cat y)\" = after");
}

static void links_on_the_way_are_refused(void **state)
{
	struct restore_options options = { .root = root, .side = BUNDLE_AFTER, .force = true };
	owned(bundle_closep) struct bundle *bundle =
		make_bundle(RECORD("/d/e/x", NONE, FILE_OF("a", 33188)));
	struct err err = { 0 };

	sh("mkdir -p away/e; ln -s away d");
	assert_null(restore_plan(bundle, &options, &err));
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.text, "'/d' is a link"));
	sh("rm d; echo file >d");
	assert_null(restore_plan(bundle, &options, &err));
	/* the link is made after the plan */
	sh("rm d; mkdir -p d/e");
	owned(restore_plan_freep) struct restore *restore = plan(bundle, BUNDLE_AFTER, true);
	sh("rm -r d; ln -s away d");
	apply(restore);
	assert_int_equal(restore->failed, 1);
	sh("test ! -e away/e/x");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(plans_by_what_is_there),
		TEST(conflicts_and_missing_contents_touch_nothing),
		TEST(what_changes_after_the_plan_is_kept),
		TEST(times_of_directories_come_back),
		TEST(shut_directories_are_opened_for_the_time),
		TEST(a_directory_of_unknown_files_is_never_removed),
		TEST(extended_attributes_come_and_go),
		TEST(a_second_name_is_linked_to_the_first),
		TEST(owners_are_given_where_we_may),
		TEST(a_mode_that_is_not_recorded_is_the_usual_one),
		TEST(links_on_the_way_are_refused),
	};

	return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
