/*
 * Tests of bundles: manifests of strata and of other tools can be read, damage is reported by name,
 * and contents are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "parquet/pqwrite.h"
#include "trace/bundle/bundle.h"
#include "trace/bundle/bundle_content.h"
#include "trace/bundle/bundle_verify.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define S INT64_C(1000000000)

/* --- helpers --- */

static struct bundle *parse(const char *text)
{
	struct err err = { 0 };
	struct bundle *bundle = bundle_parse(str_of(text), &err);

	if (!bundle)
		fail_msg("%s", err.text);
	return bundle;
}

/* Returns a manifest with one record that has these members. */
static char *one(const char *members)
{
	return mem_printf("{\"files\": [{\"path\": \"/x\", %s}]}", members);
}

static void assert_str(struct str have, const char *want)
{
	assert_int_equal(have.len, strlen(want));
	assert_memory_equal(have.ptr, want, have.len);
	assert_int_equal(have.ptr[have.len], '\0');
}

static void write_file(int dir, const char *name, const char *text)
{
	struct err err = { 0 };
	owned_fd int fd = at_create(dir, name, O_WRONLY | O_TRUNC, 0644, &err);

	assert_true(fd >= 0);
	assert_int_equal(at_write_all(fd, text, strlen(text)), 0);
}

static void write_blobs(int dir, const char *const (*rows)[2], size_t count)
{
	struct err err = { 0 };
	owned_fd int fd = at_create(dir, BUNDLE_BLOBS, O_RDWR | O_TRUNC, 0644, &err);
	owned(pqwrite_closep) struct pqwrite *table = pqwrite_open(fd, PQWRITE_SNAPPY, &err);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(pqwrite_row(table, str_of(rows[i][0]), rows[i][1],
					 strlen(rows[i][1]), &err),
			0);
	assert_int_equal(pqwrite_finish(table, &err), 0);
}

static char place[] = "/tmp/bundle_test.XXXXXX";
static int dir = -1;

static int set_up(void **state)
{
	struct err err;

	strcpy(place + sizeof(place) - 7, "XXXXXX");
	assert_non_null(mkdtemp(place));
	dir = at_open_given(place, O_RDONLY | O_DIRECTORY, 0, &err);
	return dir < 0;
}

static int tear_down(void **state)
{
	(void)unlinkat(dir, BUNDLE_MANIFEST, 0);
	(void)unlinkat(dir, BUNDLE_BLOBS, 0);
	close_fd(&dir);
	return rmdir(place);
}

static int gather(void *arg, const void *bytes, size_t len, struct err *err)
{
	buf_add(arg, bytes, len);
	return 0;
}

/* --- manifests --- */

/* A manifest as it is documented by the tool that the format comes from. */
static const char foreign[] =
	"{\"command\": [\"python3\", \"s.py\"], \"exit_status\": 0, \"start_cwd\": \"/repo\","
	"\"uid\": 1000, \"gid\": 1000, \"git_repositories\": [{\"root\": \"/repo\", \"head\": "
	"\"abc\"}],"
	"\"files\": [{\"path\": \"/repo/generated.txt\", \"operations\": [\"write\"],"
	" \"before\": {\"exists\": false}, \"after\": {\"exists\": true, \"type\": \"file\","
	" \"mode\": 33188, \"mtime\": 1770000001, \"blob\": \"after:/repo/generated.txt\"}},"
	"{\"path\": \"/repo/file.txt\", \"operations\": [\"read\", \"teleport\"],"
	" \"before\": {\"exists\": true, \"type\": \"file\", \"mode\": 33188, \"mtime\": "
	"1770000000},"
	" \"after\": {\"exists\": true, \"type\": \"file\", \"mode\": 33188, \"mtime\": "
	"1770000000},"
	" \"git\": {\"in_repo\": true, \"root\": \"/repo\", \"head\": \"abc123\","
	" \"relative_path\": \"file.txt\", \"tracked\": true, \"dirty\": false, \"ignored\": "
	"false}},"
	"{\"path\": \"/repo/deleted.txt\", \"operations\": [\"delete\"],"
	" \"before\": {\"exists\": true, \"type\": \"file\", \"blob\": \"...\"},"
	" \"after\": {\"exists\": false, \"tombstone\": true}}], \"more\": {\"of\": [1, null]}}";

static void reads_a_manifest_of_another_tool(void **state)
{
	owned(bundle_closep) struct bundle *bundle = parse(foreign);
	const struct bundle_file *file;

	assert_int_equal(bundle->n_command, 2);
	assert_str(bundle->command[1], "s.py");
	assert_true(bundle->has_status && !bundle->exit_status && !bundle->has_complete);
	assert_int_equal(bundle->n_repositories, 1);
	assert_int_equal(bundle->n_files, 3);
	assert_false(bundle->was_sorted);
	assert_str(bundle->files[0].path, "/repo/deleted.txt");
	file = bundle_find(bundle, STR("/repo/file.txt"));
	assert_non_null(file);
	assert_int_equal(file->operations, BUNDLE_READ | BUNDLE_OTHER);
	assert_int_equal(file->state[0].has, BUNDLE_HAS_MODE | BUNDLE_HAS_MTIME);
	assert_true(file->state[0].mtime == 1770000000 * S);
	assert_int_equal(file->state[0].mode, 0644);
	assert_true(file->git.tracked && !file->git.dirty);
	assert_str(file->git.path, "file.txt");
	assert_false(bundle_is_changed(file));
	file = bundle_find(bundle, STR("/repo/deleted.txt"));
	assert_true(file->state[1].tombstone && bundle_is_changed(file));
	assert_null(bundle_find(bundle, STR("/repo")));
}

static void reads_what_only_ours_say(void **state)
{
	owned_mem char *text = mem_printf(
		"{\"complete\": false, \"incomplete_reasons\": [\"r\"], \"engine\": \"notify\","
		"\"started_at\": \"2026-01-01T00:00:00Z\", \"ended_at\": "
		"\"2026-01-01T00:00:01.5Z\","
		"\"processes\": [{}, {}], \"files\": [{\"path\": \"/n\xc3\xbf\", \"path_bytes\": "
		"\"L27/\","
		"\"before\": {\"exists\": true, \"type\": \"symlink\", \"mtime\": -2, "
		"\"mtime_ns\": 500000000,"
		"\"size\": 3, \"uid\": 1, \"gid\": 4294967295, \"target\": \"t\", \"links\": "
		"[\"/a\", \"/b\"],"
		"\"xattrs\": {\"user.a\": \"AQID\", \"user.b\": \"\"}},"
		"\"after\": {\"exists\": true, \"type\": \"char\", \"mtime\": 9, \"mtime_ns\": "
		"9000000007,"
		"\"rdev\": 259}}]}");
	owned(bundle_closep) struct bundle *bundle = parse(text);
	const struct bundle_state *before = &bundle->files[0].state[0],
				  *after = &bundle->files[0].state[1];

	assert_true(bundle->has_complete && !bundle->complete && bundle->n_reasons == 1);
	assert_true(bundle->ended - bundle->started == S + S / 2);
	assert_int_equal(bundle->n_processes, 2);
	assert_str(bundle->files[0].path, "/n\xff");
	assert_true(before->mtime == -2 * S + S / 2 && after->mtime == 9 * S + 7);
	assert_int_equal(before->gid, UINT32_MAX);
	assert_int_equal(before->n_links, 2);
	assert_int_equal(before->n_xattrs, 2);
	assert_string_equal(before->xattrs[0].name, "user.a");
	assert_int_equal(before->xattrs[0].value.len, 3);
	assert_int_equal(after->type, BUNDLE_CHAR);
	assert_true(after->rdev == 259);
}

/*
 * The base64 stands before or after the text that it belongs to.  The bytes of the base64 are used.
 */
static void reads_names_that_are_not_text(void **state)
{
	owned(bundle_closep) struct bundle *bundle = parse(
		"{\"command_bytes\": [\"Y2F0\", \"Zuk=\", \"\"], \"start_cwd\": \"/caf\xc3\xa9\","
		"\"git_repositories\": [{\"root_bytes\": \"L3Lp\", \"root\": \"/r\xc3\xa9\"}],"
		"\"files\": [{\"path_bytes\": \"L3LpL2Y=\", \"git\": {\"root_bytes\": \"L3Lp\","
		" \"root\": \"/r\xc3\xa9\", \"relative_path\": \"f\"}, \"before\": {\"exists\": "
		"true,"
		" \"links_bytes\": [\"L2E=\", \"L+k=\"], \"links\": [\"/a\", \"/\xc3\xa9\"]}}],"
		"\"command\": [\"cat\", \"f\xc3\xa9\", \"\"], \"start_cwd_bytes\": \"L2NhZuk=\"}");
	const struct bundle_file *file = bundle_find(bundle, STR("/r\xe9/f"));

	assert_int_equal(bundle->n_command, 3);
	assert_str(bundle->command[0], "cat");
	assert_str(bundle->command[1], "f\xe9");
	assert_str(bundle->command[2], "");
	assert_str(bundle->start_cwd, "/caf\xe9");
	assert_str(bundle->repositories[0].root, "/r\xe9");
	assert_non_null(file);
	assert_str(file->git.root, "/r\xe9");
	assert_str(file->git.path, "f");
	assert_int_equal(file->state[0].n_links, 2);
	assert_str(file->state[0].links[0], "/a");
	assert_str(file->state[0].links[1], "/\xe9");
}

/* Some tools write an empty text or null in place of an absent member. */
static void takes_empty_and_null_for_nothing(void **state)
{
	owned(bundle_closep) struct bundle *bundle = parse(
		"{\"start_cwd\": \"\", \"command_bytes\": null, \"started_at\": null,"
		"\"files\": [{\"path\": \"/x\", \"inherited\": null, \"git\": {\"in_repo\": false,"
		" \"root\": \"\", \"head\": null}}, {\"path\": \"/y\", \"git\": {\"root\": "
		"null}}]}");

	assert_str(bundle->start_cwd, "");
	assert_str(bundle->files[0].git.root, "");
	assert_str(bundle->files[1].git.root, "");
	assert_int_equal(bundle->n_command, 0);
}

static void says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "manifest.json: not JSON" },
		{ "[]", "manifest.json: it is not an object" },
		{ "{\"files\": 1}", "'files' is not one array" },
		{ "{\"files\": [{}]}", "record 1: it has no path" },
		{ "{\"files\": [{\"path\": \"/a\"}, 7]}", "record 2: it is not an object" },
		{ "{\"files\": [{\"path\": \"/a\"}, {\"path\": }]}", "record 2: not JSON" },
		{ "{\"files\": [{\"path\": \"a\"}]}", "record 1: its path 'a' is not an absolute" },
		{ "{\"files\": [{\"path\": \"/a/../b\"}]}", "not an absolute, plain one" },
		{ "{\"files\": [{\"path\": \"/a\\u0000b\"}]}", "holds a NUL" },
		{ "{\"files\": [{\"path_bytes\": \"L2EAYg==\"}]}", "holds a NUL" },
		{ "{\"files\": [{\"path\": \"/a\"}, {\"path\": \"/a\"}]}", "two records of '/a'" },
		{ "{\"files\": [{\"path\": \"/a\", \"operations\": [1]}]}",
			"record 1: '/a': 'operations' is not a list of strings" },
		{ "{\"files\": [{\"path\": \"/a\", \"after\": {\"exists\": true, \"mtime\": "
		  "1e300}}]}",
			"'mtime' is out of range" },
		{ "{\"files\": [{\"path\": \"/a\", \"git\": {\"tracked\": 1}}]}",
			"'tracked' is not true or false" },
		{ "{\"command\": \"x\"}", "'command' is not an array" },
		{ "{\"exit_status\": \"0\"}", "'exit_status' is not a whole number" },
		{ "{\"git_repositories\": [1]}", "'git_repositories' is not a list of objects" },
		{ "{\"files\": []} {}", "something follows its end" },
		{ "{\"files\": [{\"path\": \"/a\", \"inherited\": 1}]}",
			"record 1: '/a': 'inherited' is not true or false" },
		{ "{\"started_at\": -9223372036854775808}", "'started_at' is out of range" },
		{ "{\"ended_at\": 9223372036854775807}", "'ended_at' is out of range" },
		{ "{\"ended_at\": \"2262-01-01T00:00:00Z\"}", "'ended_at' is out of range" },
		{ "{\"command\": [\"a\"], \"command_bytes\": \"YQ==\"}",
			"'command_bytes' is not an array" },
		{ "{\"command\": [\"a\"], \"command_bytes\": []}",
			"'command_bytes' is not as long as 'command'" },
		{ "{\"command_bytes\": [\"YQ==\"]}",
			"'command_bytes' is not as long as 'command'" },
		{ "{\"command\": [\"a\"], \"command_bytes\": [1]}",
			"'command_bytes' is not a list of strings" },
		{ "{\"command\": [\"a\"], \"command_bytes\": [\"&\"]}",
			"'command_bytes' is not a list of base64" },
		{ "{\"command\": [\"a\"], \"command_bytes\": [\"YQBi\"]}",
			"'command_bytes' holds a NUL" },
		{ "{\"start_cwd_bytes\": 1}", "'start_cwd_bytes' is not a string" },
		{ "{\"start_cwd_bytes\": \"&\"}", "'start_cwd_bytes' is not base64" },
		{ "{\"git_repositories\": [{\"root_bytes\": []}]}",
			"'root_bytes' is not a string" },
		{ "{\"files\": [{\"path\": \"/a\", \"git\": {\"root_bytes\": 1}}]}",
			"record 1: '/a': 'root_bytes' is not a string" },
		{ "{\"files\": [{\"path\": \"/a\", \"after\": {\"exists\": true, "
		  "\"links\": [\"/b\"], \"links_bytes\": [\"L2E=\", \"L2I=\"]}}]}",
			"record 1: '/a': 'links_bytes' is not as long as 'links'" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };

		assert_null(bundle_parse(str_of(cases[i].text), &err));
		if (err.code != ERR_CORRUPT || !strstr(err.text, cases[i].want))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void tells_what_changed(void **state)
{
#define SAME "\"exists\": true, \"type\": \"file\""
	static const struct {
		const char *members;
		unsigned want;
	} cases[] = {
		{ "\"before\": {" SAME "}, \"after\": {" SAME "}", 0 },
		{ "\"before\": {\"exists\": false}, \"after\": {" SAME "}", BUNDLE_CHANGED_TYPE },
		{ "\"before\": {" SAME ", \"mode\": 1}, \"after\": {" SAME ", \"mode\": 2}",
			BUNDLE_CHANGED_MODE },
		{ "\"before\": {" SAME ", \"mode\": 1}, \"after\": {" SAME "}", 0 },
		{ "\"before\": {" SAME ", \"uid\": 1}, \"after\": {" SAME ", \"uid\": 2}",
			BUNDLE_CHANGED_OWNER },
		{ "\"before\": {" SAME ", \"mtime\": 1}, \"after\": {" SAME ", \"mtime\": 2}",
			BUNDLE_CHANGED_MTIME | BUNDLE_CHANGED_CONTENT },
		{ "\"operations\": [\"write\"], \"before\": {" SAME "}, \"after\": {" SAME "}",
			BUNDLE_CHANGED_CONTENT },
		{ "\"before\": {" SAME ", \"xattrs\": {\"user.a\": \"\"}}, \"after\": {" SAME "}",
			BUNDLE_CHANGED_XATTRS },
		{ "\"before\": {" SAME ", \"xattrs\": {\"user.a\": \"\", \"user.c\": \"\"},"
		  "\"xattrs_bytes\": {\"dXNlci5i\": \"\"}}, \"after\": {" SAME
		  ", \"xattrs\": {\"user.c\": \"\", \"user.b\": \"\", \"user.a\": \"\"}}",
			0 },
		{ "\"before\": {\"exists\": true, \"type\": \"dir\", \"mtime\": 1},"
		  "\"after\": {\"exists\": true, \"type\": \"dir\", \"mtime\": 2}",
			0 },
		{ "\"before\": {\"exists\": true, \"type\": \"symlink\", \"target\": \"a\"},"
		  "\"after\": {\"exists\": true, \"type\": \"symlink\", \"target\": \"b\"}",
			BUNDLE_CHANGED_TARGET },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned_mem char *text = one(cases[i].members);
		owned(bundle_closep) struct bundle *bundle = parse(text);

		assert_int_equal(bundle_compare(&bundle->files[0]), cases[i].want);
	}
}

static void takes_a_hundred_thousand_records(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;

	buf_adds(&text, "{\"files\": [");
	for (int i = 100000; i-- > 0;)
		buf_addf(&text, "{\"path\": \"/d/%06d\", \"before\": {\"exists\": false}}%s", i,
			i ? ",\n" : "]}");
	owned(bundle_closep) struct bundle *bundle = parse(text.data);
	assert_int_equal(bundle->n_files, 100000);
	assert_str(bundle->files[99999].path, "/d/099999");
}

/* --- contents --- */

static const char *const rows[][2] = { { "after:/x", "hello\n" }, { "before:/y", "" },
	{ "spare", "spare" } };

#define HELLO "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
#define OTHER "0891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

static struct bundle *open_with(const char *members)
{
	owned_mem char *text = one(members);
	struct err err = { 0 };

	write_file(dir, BUNDLE_MANIFEST, text);
	write_blobs(dir, rows, COUNT(rows));
	struct bundle *bundle = bundle_open(dir, &err);
	if (!bundle)
		fail_msg("%s", err.text);
	return bundle;
}

static void finds_a_content(void **state)
{
#define AFTER(more) "\"after\": {" SAME ", " more "}"
	static const struct {
		const char *members;
		enum bundle_side side;
		const char *want; /* the expected content, or the expected error message */
		int code;
	} cases[] = {
		{ AFTER("\"blob\": \"after:/x\", \"size\": 6, \"sha256\": \"" HELLO "\""),
			BUNDLE_AFTER, "hello\n", 0 },
		{ AFTER("\"blob\": \"before:/y\""), BUNDLE_AFTER, "", 0 },
		{ AFTER("\"size\": 0"), BUNDLE_AFTER, "", 0 },
		/* the content of the other state, if both states have the same content */
		{ "\"operations\": [\"read\"], \"before\": {" SAME
		  ", \"mtime\": 1}, " AFTER("\"mtime\": 1, \"blob\": \"after:/x\""),
			BUNDLE_BEFORE, "hello\n", 0 },
		{ "\"before\": {" SAME ", \"sha256\": \"" HELLO
		  "\"}, " AFTER("\"blob\": \"after:/x\", \"sha256\": \"" HELLO "\""),
			BUNDLE_BEFORE, "hello\n", 0 },
		{ "\"operations\": [\"write\"], \"before\": {" SAME
		  ", \"mtime\": 1}, " AFTER("\"mtime\": 1, \"blob\": \"after:/x\""),
			BUNDLE_BEFORE, "its content was not saved", -ERR_NOT_FOUND },
		{ AFTER("\"blob\": \"after:/x\", \"size\": 5"), BUNDLE_AFTER,
			"not the one recorded", -ERR_CORRUPT },
		{ AFTER("\"blob\": \"after:/x\", \"sha256\": \"" OTHER "\""), BUNDLE_AFTER,
			"not the one recorded", -ERR_CORRUPT },
		{ AFTER("\"blob\": \"none\""), BUNDLE_AFTER, "has no 'none'", -ERR_CORRUPT },
		{ AFTER("\"size\": 1"), BUNDLE_AFTER, "was not saved", -ERR_NOT_FOUND },
		{ AFTER("\"size\": 1"), BUNDLE_BEFORE, "did not exist", -ERR_NOT_FOUND },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(bundle_closep) struct bundle *bundle = open_with(cases[i].members);
		owned(buf_release) struct buf out = BUF_INIT;
		struct err err = { 0 };
		int rc = bundle_content(
			bundle, &bundle->files[0], cases[i].side, gather, &out, &err);

		if (rc != cases[i].code || (rc < 0 && !strstr(err.text, cases[i].want)))
			fail_msg("%s: %s", cases[i].members, err.text);
		if (!rc)
			assert_string_equal(out.data ?: "", cases[i].want);
	}
}

static void hashes_what_the_manifest_does_not(void **state)
{
	owned(bundle_closep) struct bundle *bundle = open_with(AFTER("\"blob\": \"after:/x\""));
	struct hash hash, want;
	struct err err = { 0 };

	assert_true(hash_parse(HELLO, &want));
	assert_int_equal(bundle_content_hash(bundle, bundle->files, BUNDLE_AFTER, &hash, &err), 1);
	assert_true(hash_eq(&hash, &want));
	assert_int_equal(bundle_content_hash(bundle, bundle->files, BUNDLE_BEFORE, &hash, &err), 0);
}

static int count_problem(void *arg, struct str where, const char *problem, struct err *err)
{
	buf_addf(arg, "%.*s: %s\n", (int)where.len, where.ptr, problem);
	return 0;
}

static void verify_tells_every_problem(void **state)
{
	owned(bundle_closep) struct bundle *bundle =
		open_with("\"before\": {" SAME
			  ", \"blob\": \"gone\"}, " AFTER("\"blob\": \"after:/x\", \"size\": 7"));
	owned(buf_release) struct buf out = BUF_INIT;
	struct bundle_verify verify = { .report = count_problem, .arg = &out };
	struct err err = { 0 };

	assert_int_equal(bundle_verify(dir, &verify, &err), 0);
	assert_string_equal(out.data, "/x: before: blobs.parquet has no 'gone'\n"
				      "/x: after: its content is not the one recorded\n"
				      "before:/y: no state names this content\n"
				      "spare: no state names this content\n");
	assert_int_equal(verify.problems, 4);
}

int main(void)
{
#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_manifest_of_another_tool),
		cmocka_unit_test(reads_what_only_ours_say),
		cmocka_unit_test(reads_names_that_are_not_text),
		cmocka_unit_test(takes_empty_and_null_for_nothing),
		cmocka_unit_test(says_what_is_wrong_and_where),
		cmocka_unit_test(tells_what_changed),
		cmocka_unit_test(takes_a_hundred_thousand_records),
		IN_DIR(finds_a_content),
		IN_DIR(hashes_what_the_manifest_does_not),
		IN_DIR(verify_tells_every_problem),
	};

	return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
