/*
 * zfsfamily: calls of methods on a script that stands for zfs: their errors, the order of checks,
 * the time limit, and what is asked again.  tests/cli/query-zfs.bats has the answers of real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utime.h>

#include <cmocka.h>

#include "core/errcode.h"
#include "core/when.h"
#include "query/method.h"
#include "query/zfsfamily.h"
#include "tempdir_fixture.h"
#include "valgrind_fixture.h"

/* A directory with the script, and a registry that asks it. */
struct world {
	char dir[64];
	char *path; /* PATH before the test */
	struct registry registry;
	struct err err;
	int64_t time_max;
	bool (*cancelled)(void *arg);
	void *arg;
};

/* Make the script answer with these branches of a case.  It writes its arguments into calls. */
static void answer(struct world *world, const char *branches)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/bin/zfs", world->dir);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file,
		"#!/bin/sh\ncd %s\necho \"$*\" >>calls\ncase $* in\n%s\n"
		"*) echo \"cannot open: $*\" >&2; exit 1 ;;\nesac\n",
		world->dir, branches);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
}

static void make_dir(struct world *world, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", world->dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void write_file(struct world *world, const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", world->dir, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#define LIST_OF_A "list\\ -H\\ -p\\ -t\\ snapshot*tank/a"
#define ANSWERS                                                                                    \
	LIST_OF_A ") printf 'tank/a@1\\t100\\t5\\t6\\ntank/a@2\\t200\\t7\\t8\\n' ;;\n"             \
		  "*value\\ mountpoint\\ tank/a) echo \"$PWD/a\" ;;\n"                             \
		  "*value\\ mountpoint\\ tank/l) echo legacy ;;\n"                                 \
		  "*value\\ written@1\\ tank/a@2) echo 1234 ;;"

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	char path[4096];

	snprintf(world->dir, sizeof(world->dir), "/tmp/strata-zfs.XXXXXX");
	if (!mkdtemp(world->dir))
		return -1;
	*state = world;
	world->path = strdup(getenv("PATH") ?: "/usr/bin:/bin");
	snprintf(path, sizeof(path), "%s/bin:%s", world->dir, world->path);
	setenv("PATH", path, 1);
	static const char *const dirs[] = { "bin", "a", "a/.zfs", "a/.zfs/snapshot",
		"a/.zfs/snapshot/1", "a/.zfs/snapshot/2" };
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_dir(world, dirs[i]);
	write_file(world, "a/.zfs/snapshot/1/f", "one");
	answer(world, ANSWERS);
	registry_add(&world->registry, zfsfamily_new(true));
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;
	int r;

	registry_release(&world->registry);
	setenv("PATH", world->path, 1);
	r = tempdir_remove(world->dir);
	free(world->path);
	free(world);
	return r;
}

/* Call a method.  Returns its result as JSON, or its code as text, to be freed. */
static char *call(struct world *world, const char *method, const char *params)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json out = JSON_INIT;
	struct method_context ctx = {
		.registry = &world->registry,
		.arena = &arena,
		.time_max = world->time_max,
		.cancelled = world->cancelled,
		.arg = world->arg,
	};
	char *text = NULL;

	world->err = (struct err){ 0 };
	struct jsonread *given = jsonread_new(str_of(params), &world->err);
	assert_non_null(given);
	json_open(&out, NULL, '{');
	int r = method_call(&ctx, method, given, &out, &world->err);
	json_close(&out);
	if (r < 0)
		assert_true(asprintf(&text, "%d", errcode_query(&world->err)) > 0);
	else
		text = strdup(json_written(&out).ptr);
	jsonread_free(given);
	return text;
}

static void gives(struct world *world, const char *method, const char *params, const char *wanted)
{
	owned_mem char *text = call(world, method, params);

	assert_string_equal(text, wanted);
}

/* How often the script was called with arguments that begin like this. */
static int calls(struct world *world, const char *start)
{
	char path[80], line[4096];
	int n = 0;

	snprintf(path, sizeof(path), "%s/calls", world->dir);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		n += !strncmp(line, start, strlen(start));
	if (file)
		fclose(file);
	return n;
}

static void answers_like_zfs(void **state)
{
	struct world *world = *state;

	gives(world, "list_snapshots", "{\"dataset\":\"tank/a\"}",
		"{\"snapshots\":[{\"name\":\"tank/a@1\",\"dataset\":\"tank/a\",\"snap\":\"1\","
		"\"creation\":100,\"used\":5,\"refer\":6},{\"name\":\"tank/a@2\",\"dataset\":"
		"\"tank/a\",\"snap\":\"2\",\"creation\":200,\"used\":7,\"refer\":8}]}");
	gives(world, "size_delta", "{\"snap_a\":\"tank/a@1\",\"snap_b\":\"tank/a@2\"}",
		"{\"snap_a\":\"tank/a@1\",\"snap_b\":\"tank/a@2\",\"written_bytes\":1234}");
	assert_int_equal(registry_failure(&world->registry).len, 0);
}

/* ------------------------------------------------------------------- errors */

static void checks_in_the_order_of_the_protocol(void **state)
{
	/* Each call has one fault less than the call before it. */
	static const struct {
		const char *params, *code;
	} calls_[] = {
		{ "{\"snapshot\":\"t;x@1\",\"path\":\"..\",\"max_entries\":0}", "-32602" },
		{ "{\"snapshot\":\"t;x@1\",\"path\":\"..\",\"max_entries\":1}", "-32002" },
		{ "{\"snapshot\":\"t;x@1\",\"path\":\"f\",\"max_entries\":1}", "-32602" },
		{ "{\"snapshot\":\"tank/a@ 1\",\"path\":\"f\",\"max_entries\":1}", "-32602" },
		{ "{\"snapshot\":\"tank/no@9\",\"path\":\"f\",\"max_entries\":1}", "-32001" },
		{ "{\"snapshot\":\"tank/l@9\",\"path\":\"f\",\"max_entries\":1}", "-32001" },
		{ "{\"snapshot\":\"tank/a@9\",\"path\":\"f\",\"max_entries\":1}", "-32002" },
		{ "{\"snapshot\":\"tank/a@1\",\"path\":\"g\",\"max_entries\":1}", "-32002" },
		{ "{\"snapshot\":\"tank/a@1\",\"path\":\"f\",\"max_entries\":1}", "-32002" },
		{ "{\"snapshot\":\"tank/a@2\",\"path\":\"\",\"max_entries\":1}",
			"{\"snapshot\":\"tank/a@2\",\"path\":\"\",\"entries\":[],"
			"\"truncated\":false}" },
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(calls_) / sizeof(calls_[0]); i++) {
		gives(world, "list_dir", calls_[i].params, calls_[i].code);
		assert_int_equal(calls(world, "") > 0, i >= 4); /* zfs is asked from here on */
	}
}

static void tells_which_program_failed_and_how(void **state)
{
	struct world *world = *state;

	gives(world, "list_snapshots", "{\"dataset\":\"tank/no\"}", "-32001");
	assert_string_equal(registry_failure(&world->registry).ptr,
		"\"stderr\":\"cannot open: list -H -p -t snapshot -o "
		"name,creation,used,referenced -d 1 tank/no\",\"argv\":[\"zfs\",\"list\",\"-H\","
		"\"-p\",\"-t\",\"snapshot\",\"-o\",\"name,creation,used,referenced\",\"-d\",\"1\","
		"\"tank/no\"]");
	gives(world, "list_dir", "{\"snapshot\":\"tank/l@1\",\"path\":\"\"}", "-32001");
	assert_string_equal(registry_failure(&world->registry).ptr,
		"\"stderr\":\"\",\"argv\":[\"zfs\",\"get\",\"-H\",\"-p\",\"-o\",\"value\","
		"\"mountpoint\",\"tank/l\"]");
	gives(world, "list_pools", "{}", "-32001"); /* there is no zpool */
	assert_string_equal(world->err.text, "there is no program 'zpool' on PATH");
	assert_non_null(strstr(registry_failure(&world->registry).ptr, "\"zpool\",\"list\""));
	gives(world, "list_pools", "{\"cursor\":1}", "-32602");
	assert_int_equal(registry_failure(&world->registry).len, 0);
}

static void ends_a_zfs_that_hangs(void **state)
{
	static const char *const asked[][2] = {
		{ "list_datasets", "{}" },
		{ "list_snapshots", "{\"dataset\":\"tank/a\"}" },
		{ "list_dir", "{\"snapshot\":\"tank/a@1\",\"path\":\"\"}" },
		{ "dataset_properties", "{\"dataset\":\"tank/a\"}" },
		{ "size_delta", "{\"snap_a\":\"tank/a@1\",\"snap_b\":\"tank/a@2\"}" },
		{ "diff_snapshots", "{\"snap_a\":\"tank/a@1\",\"snap_b\":\"tank/a@2\"}" },
	};
	struct world *world = *state;
	int64_t start = when_monotonic();

	answer(world, "*) trap '' TERM; sleep 1000; sleep 1000 ;;");
	world->time_max = WHEN_SECOND / 5;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		gives(world, asked[i][0], asked[i][1], "-32003");
		assert_string_equal(world->err.text, "'zfs' did not end in time");
		assert_non_null(
			strstr(registry_failure(&world->registry).ptr, "\"argv\":[\"zfs\""));
	}
	assert_true(when_monotonic() - start < 30 * WHEN_SECOND);
}

static bool after_a_while(void *arg)
{
	return when_monotonic() > *(int64_t *)arg;
}

static void ends_zfs_when_the_call_is_cancelled(void **state)
{
	struct world *world = *state;
	int64_t then = when_monotonic() + WHEN_SECOND / 5;

	answer(world, "*) sleep 1000 ;;");
	world->cancelled = after_a_while;
	world->arg = &then;
	gives(world, "list_datasets", "{}", "-32003");
	assert_string_equal(world->err.text, "cancelled");
	assert_true(when_monotonic() - then < 10 * WHEN_SECOND);
}

/* ------------------------------------------------------------------ caching */

/* Set the mtime of .zfs/snapshot to a time that is long past. */
static void age_snapshots(struct world *world, time_t mtime)
{
	char path[80];
	struct utimbuf times = { mtime, mtime };

	snprintf(path, sizeof(path), "%s/a/.zfs/snapshot", world->dir);
	assert_int_equal(utime(path, &times), 0);
}

static void asks_again_only_when_snapshots_changed(void **state)
{
	static const char history[] = "{\"dataset\":\"tank/a\",\"path\":\"f\"}";
	struct world *world = *state;

	age_snapshots(world, 1000);
	free(call(world, "file_history", history)); /* learns the mountpoint */
	free(call(world, "file_history", history));
	int before = calls(world, "list");
	usleep(400000);
	for (int i = 0; i < 3; i++)
		free(call(world, "file_history", history));
	assert_int_equal(calls(world, "list"), before);
	assert_int_equal(calls(world, "get"), 1);
	/* A new snapshot changes the directory. */
	make_dir(world, "a/.zfs/snapshot/3");
	age_snapshots(world, 2000);
	free(call(world, "file_history", history));
	assert_int_equal(calls(world, "list"), before + 1);
	/* A list that was made just after a change is not trusted for long. */
	make_dir(world, "a/.zfs/snapshot/4");
	free(call(world, "file_history", history));
	assert_int_equal(calls(world, "list"), before + 2);
	usleep(400000);
	free(call(world, "file_history", history));
	assert_int_equal(calls(world, "list"), before + 3);
}

static void forgets_the_list_when_a_snapshot_is_gone(void **state)
{
	struct world *world = *state;

	age_snapshots(world, 1000);
	for (int i = 0; i < 3; i++)
		free(call(world, "list_snapshots", "{\"dataset\":\"tank/a\"}"));
	gives(world, "list_dir", "{\"snapshot\":\"tank/a@9\",\"path\":\"\"}", "-32002");
	int before = calls(world, "list");
	free(call(world, "list_snapshots", "{\"dataset\":\"tank/a\"}"));
	assert_int_equal(calls(world, "list"), before + 1);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* An open directory would keep the file system from being unmounted. */
static void keeps_no_directory_open_between_calls(void **state)
{
	struct world *world = *state;
	int before = open_descriptors();

	free(call(world, "file_history", "{\"dataset\":\"tank/a\",\"path\":\"f\"}"));
	free(call(world, "list_dir", "{\"snapshot\":\"tank/a@1\",\"path\":\"\"}"));
	assert_int_equal(open_descriptors(), before);
}

static void allows_more_time_for_a_diff(void **state)
{
	assert_int_equal(method_seconds("diff_snapshots"), 300);
	assert_int_equal(method_seconds("list_dir"), 30);
	assert_int_equal(method_seconds("no_method"), 30);
}

#define world_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		world_test(answers_like_zfs),
		world_test(checks_in_the_order_of_the_protocol),
		world_test(tells_which_program_failed_and_how),
		world_test(ends_a_zfs_that_hangs),
		world_test(ends_zfs_when_the_call_is_cancelled),
		world_test(asks_again_only_when_snapshots_changed),
		world_test(forgets_the_list_when_a_snapshot_is_gone),
		world_test(keeps_no_directory_open_between_calls),
		cmocka_unit_test(allows_more_time_for_a_diff),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
