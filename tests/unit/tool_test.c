/* tool: programs run without a shell, have limited output, and never outlive their call. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/limits.h"
#include "core/when.h"
#include "query/tool.h"
#include "tempdir_fixture.h"
#include "valgrind_fixture.h"

static char dir[64];

/* Make dir/demo an executable file with this text. */
static void write_program(const char *text)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/demo", dir);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
}

static const char *const no_arguments[] = { "demo", NULL };

static struct tool_call call_of(const char *const *argv)
{
	return (struct tool_call){ .argv = argv, .time_max = 60 * WHEN_SECOND };
}

static void gives_all_output(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nprintf 'a\\n\\nb'\n");
	assert_int_equal(tool_run(&call, &err), 0);
	assert_string_equal(call.output.data, "a\n\nb");
}

static int join_line(void *arg, struct str line, struct err *err)
{
	struct buf *joined = arg;

	buf_add(joined, line.ptr, line.len);
	buf_addc(joined, '|');
	return 0;
}

/* The output has a line that arrives in two pieces, and a last line without a newline. */
static void passes_lines(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	owned(buf_release) struct buf joined = BUF_INIT;
	struct err err = { 0 };

	write_program("#!/bin/sh\nprintf 'one\\n\\nt'; sleep 0.1; printf 'wo\\nthree'\n");
	call.visit = join_line;
	call.arg = &joined;
	assert_int_equal(tool_run(&call, &err), 0);
	assert_string_equal(joined.data, "one||two|three|");
}

static void passes_arguments_as_they_are(void **state)
{
	const char *const argv[] = { "demo", "$(echo x) * 'a\"b", "", "a\nb", NULL };
	owned(tool_release) struct tool_call call = call_of(argv);
	struct err err = { 0 };

	write_program("#!/bin/sh\nprintf '<%s>' \"$@\"\n");
	assert_int_equal(tool_run(&call, &err), 0);
	assert_string_equal(call.output.data, "<$(echo x) * 'a\"b><><a\nb>");
}

static void gives_no_input(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nreadlink /proc/self/fd/0; cat; echo end\n");
	assert_int_equal(tool_run(&call, &err), 0);
	assert_string_equal(call.output.data, "/dev/null\nend\n");
}

/* A file without an interpreter line is not run by a shell either. */
static void says_why_a_program_does_not_start(void **state)
{
	static const char *const missing[] = { "demo-that-is-not-there", NULL };
	owned(tool_release) struct tool_call call = call_of(missing);
	owned(tool_release) struct tool_call bad = call_of(no_arguments);
	struct err err = { 0 };

	assert_int_equal(tool_run(&call, &err), -ERR_UNSUPPORTED);
	assert_string_equal(err.text, "there is no program 'demo-that-is-not-there' on PATH");
	write_program("#!/nowhere/sh\n");
	assert_int_equal(tool_run(&bad, &err), -ERR_SYSTEM);
	assert_non_null(strstr(err.text, "/demo': No such file"));
	write_program("echo a shell\n");
	assert_int_equal(tool_run(&bad, &err), -ERR_SYSTEM);
	assert_non_null(strstr(err.text, "/demo': Exec format error"));
}

static void says_how_a_program_failed(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	owned(tool_release) struct tool_call killed = call_of(no_arguments);
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	write_program("#!/bin/sh\nprintf 'cannot open\\033[1m\\nusage: x\\n' >&2; exit 3\n");
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_string_equal(err.text, "'demo' failed with exit status 3: cannot open?[1m");
	assert_int_equal(err.errno_value, 0);
	json_open(&out, NULL, '{');
	tool_members(&out, &call);
	json_close(&out);
	assert_string_equal(json_written(&out).ptr,
		"{\"stderr\":\"cannot open\\u001b[1m\\nusage: x\",\"argv\":[\"demo\"]}");
	write_program(
		"#!/bin/sh\nprintf 'no diffs: \\n   it needs\\n\tmore\\nusage\\n' >&2; exit 1\n");
	tool_release(&call);
	call = call_of(no_arguments);
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_string_equal(err.text, "'demo' failed with exit status 1: no diffs: it needs more");
	write_program("#!/bin/sh\nkill -9 $$\n");
	assert_int_equal(tool_run(&killed, &err), -ERR_SYSTEM);
	assert_string_equal(err.text, "'demo' was killed by signal 9");
}

/*
 * Whether the process with this number has ended.  A process that nobody has waited for counts as
 * ended, too.
 */
static bool has_ended(int pid)
{
	char path[80], byte;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || read(fd, &byte, 1) <= 0;
}

/* Whether the process whose number demo has written into dir/pid ends within two seconds. */
static bool is_gone(void)
{
	char path[80];
	int pid = 0;

	snprintf(path, sizeof(path), "%s/pid", dir);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	for (int i = 0; i < 200 && !has_ended(pid); i++)
		usleep(10000);
	return has_ended(pid);
}

static void kills_a_hanging_program_and_its_children(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };
	int64_t start = when_monotonic();

	write_program("#!/bin/sh\ntrap '' TERM HUP INT\nsleep 100 &\necho $! >${0%/*}/pid\nwait\n");
	call.time_max = WHEN_SECOND / 2;
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_int_equal(err.errno_value, ETIMEDOUT);
	assert_true(when_monotonic() - start < 20 * WHEN_SECOND);
	assert_true(is_gone());
}

/* The child keeps the pipes open, but this must not delay the end of the call. */
static void kills_what_a_program_leaves_behind(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nsleep 100 &\necho $! >${0%/*}/pid\necho done\n");
	assert_int_equal(tool_run(&call, &err), 0);
	assert_string_equal(call.output.data, "done\n");
	assert_true(is_gone());
}

static void notices_a_failure_while_children_are_ignored(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nexit 4\n");
	assert_true(signal(SIGCHLD, SIG_IGN) == SIG_DFL);
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_true(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
	assert_string_equal(err.text, "'demo' failed with exit status 4");
}

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

static int cancel_at_line(void *arg, struct str line, struct err *err)
{
	*(bool *)arg = true;
	return 0;
}

static void ends_when_the_call_is_cancelled(void **state)
{
	bool cancelled = false;
	struct timed_limit limit;
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	timed_limit_init(&limit, 60 * WHEN_SECOND, is_true, &cancelled);
	write_program("#!/bin/sh\necho started\nexec sleep 100\n");
	call.limit = &limit;
	call.visit = cancel_at_line;
	call.arg = &cancelled;
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_int_equal(err.errno_value, ECANCELED);
}

static int count_lines(void *arg, struct str line, struct err *err)
{
	return ++*(size_t *)arg == 3000000;
}

static void reads_millions_of_lines_in_little_memory(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	size_t count = 0;
	struct err err = { 0 };

	write_program("#!/bin/sh\nexec seq 1000000\n");
	call.visit = count_lines;
	call.arg = &count;
	assert_int_equal(tool_run(&call, &err), 0);
	assert_int_equal(count, 1000000);
	assert_true(call.output.cap <= 4 * TOOL_LINE_MAX);
}

static void ends_a_program_when_enough_was_read(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	size_t count = 2999990;
	struct err err = { 0 };

	write_program("#!/bin/sh\nexec yes\n");
	call.visit = count_lines;
	call.arg = &count;
	assert_int_equal(tool_run(&call, &err), 0);
	assert_int_equal(count, 3000000);
}

static void refuses_endless_output(void **state)
{
	owned(tool_release) struct tool_call line = call_of(no_arguments);
	owned(tool_release) struct tool_call whole = call_of(no_arguments);
	size_t count = 0;
	struct err err = { 0 };

	write_program("#!/bin/sh\nexec cat /dev/zero\n");
	line.visit = count_lines;
	line.arg = &count;
	assert_int_equal(tool_run(&line, &err), -ERR_CORRUPT);
	assert_string_equal(err.text, "'demo' printed a line of more than 262144 bytes");
	whole.output.max = 1000;
	assert_int_equal(tool_run(&whole, &err), -ERR_CORRUPT);
	assert_string_equal(err.text, "'demo' printed more than 1000 bytes");
}

static void keeps_the_end_of_stderr(void **state)
{
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nseq 100000 >&2\necho the end >&2; exit 1\n");
	assert_int_equal(tool_run(&call, &err), -ERR_SYSTEM);
	assert_int_equal(call.said.len, TOOL_STDERR_MAX);
	assert_string_equal(call.said.data + call.said.len - 8, "the end\n");
}

/* A program in the working directory is not run, even if PATH has that directory. */
static void finds_programs_in_absolute_directories_only(void **state)
{
	owned_mem char *path = strdup(getenv("PATH"));
	owned(buf_release) struct buf found = BUF_INIT;
	struct err err = { 0 };

	write_program("#!/bin/sh\n");
	assert_int_equal(tool_find("demo", &found, &err), 0);
	assert_string_equal(found.data + strlen(dir), "/demo");
	assert_int_equal(chdir(dir), 0);
	setenv("PATH", ":.:nowhere:", 1);
	assert_int_equal(tool_find("demo", &found, &err), -ERR_UNSUPPORTED);
	setenv("PATH", path, 1);
	assert_int_equal(chdir("/"), 0);
}

/* strata raises its own limit of open files, which is not that of other programs. */
static void gives_the_limits_from_before(void **state)
{
	struct rlimit limit;
	owned(tool_release) struct tool_call call = call_of(no_arguments);
	struct err err = { 0 };

	write_program("#!/bin/sh\nulimit -S -n\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max / 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	limits_raise();
	assert_int_equal(tool_run(&call, &err), 0);
	assert_int_equal(strtoull(call.output.data, NULL, 10), limit.rlim_cur);
}

static int setup(void **state)
{
	char path[4096];

	snprintf(dir, sizeof(dir), "/tmp/strata-tool.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH") ?: "/usr/bin:/bin");
	return setenv("PATH", path, 1);
}

static int teardown(void **state)
{
	return tempdir_remove(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_all_output),
		cmocka_unit_test(passes_lines),
		cmocka_unit_test(passes_arguments_as_they_are),
		cmocka_unit_test(gives_no_input),
		cmocka_unit_test(says_why_a_program_does_not_start),
		cmocka_unit_test(says_how_a_program_failed),
		cmocka_unit_test(notices_a_failure_while_children_are_ignored),
		cmocka_unit_test(kills_a_hanging_program_and_its_children),
		cmocka_unit_test(kills_what_a_program_leaves_behind),
		cmocka_unit_test(ends_when_the_call_is_cancelled),
		cmocka_unit_test(reads_millions_of_lines_in_little_memory),
		cmocka_unit_test(ends_a_program_when_enough_was_read),
		cmocka_unit_test(refuses_endless_output),
		cmocka_unit_test(keeps_the_end_of_stderr),
		cmocka_unit_test(finds_programs_in_absolute_directories_only),
		cmocka_unit_test(gives_the_limits_from_before),
	};

	if (valgrind_runs())
		return valgrind_skip_all();
	return cmocka_run_group_tests(tests, setup, teardown);
}
