/* denials: each denial is written and kept, and a flood of denials is counted. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/denials.h"
#include "core/own.h"

#include "valgrind_fixture.h"

struct sink {
	int read, write;
};

static struct sink new_sink(void)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	return (struct sink){ ends[0], ends[1] };
}

/* Append all lines so far to out.  Returns the number of lines. */
static size_t read_lines(const struct sink *sink, struct buf *out)
{
	char part[65536];
	ssize_t n;
	size_t lines = 0;

	buf_clear(out);
	while ((n = read(sink->read, part, sizeof(part))) > 0)
		buf_add(out, part, (size_t)n);
	for (size_t i = 0; i < out->len; i++)
		lines += out->data[i] == '\n';
	return lines;
}

static void close_sink(struct sink *sink)
{
	close(sink->read);
	close(sink->write);
}

static void deny(struct denials *denials, const char *what, const char *subject, const char *rule)
{
	struct verdict verdict = { .remedy = "the remedy" };

	snprintf(verdict.rule, sizeof(verdict.rule), "%s", rule);
	denials_add(denials, what, subject, &verdict, 0);
}

static void grants_are_written_each_time(void **state)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	const struct denial path = {
		.what = "grant", .subject = "/a:1", .access = "read", .rule = "the rule"
	};
	const struct denial host = { .what = "revoke", .subject = "a.b:1", .rule = "the rule" };
	uint64_t total;
	size_t n;

	for (int i = 0; i < 3; i++)
		denials_note(denials, &path);
	assert_int_equal(read_lines(&sink, &text), 3);
	assert_non_null(strstr(text.data, "\"what\":\"grant\",\"path\":\"/a:1\","
					  "\"access\":\"read\",\"rule\":\"the rule\","
					  "\"times\":1}"));
	denials_note(denials, &host);
	assert_int_equal(read_lines(&sink, &text), 1);
	assert_non_null(strstr(text.data, "\"what\":\"revoke\",\"host\":\"a.b\","
					  "\"port\":1,\"rule\":\"the rule\",\"times\":1}"));
	/* Such notes are not denials. */
	(void)denials_list(denials, &n, &total);
	assert_int_equal(n, 0);
	assert_int_equal(total, 0);
	denials_free(denials);
	close_sink(&sink);
}

static void writes_a_line_for_each(void **state)
{
	static const struct {
		const char *what, *subject, *members;
	} denied[] = {
		{ "read", "/a\n\xff", "\"path\":\"/a\\n\\udcff\",\"access\":\"read\"," },
		{ "connect", "a.org:443", "\"host\":\"a.org\",\"port\":443," },
		{ "connect", "[::1]:443", "\"host\":\"::1\",\"port\":443," },
		{ "resolve", "a.org", "\"host\":\"a.org\"," },
		{ "call", "ptrace", "\"name\":\"ptrace\"," },
	};
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	owned(buf_release) struct buf lines = BUF_INIT;

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		char expected[256];

		deny(denials, denied[i].what, denied[i].subject, "the rule");
		assert_int_equal(read_lines(&sink, &lines), 1);
		snprintf(expected, sizeof(expected),
			"\"what\":\"%s\",%s\"rule\":\"the rule\",\"remedy\":\"the remedy\","
			"\"times\":1}\n",
			denied[i].what, denied[i].members);
		assert_string_equal(strstr(lines.data, "\"what\""), expected);
		assert_memory_equal(lines.data, "{\"time\":\"", 9);
	}
	denials_free(denials);
	close_sink(&sink);
}

static void writes_the_same_once_a_second(void **state)
{
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	owned(buf_release) struct buf lines = BUF_INIT;
	uint64_t total;
	size_t n;

	for (int i = 0; i < 1000; i++)
		deny(denials, "connect", "a.org:443", "r");
	assert_in_range(read_lines(&sink, &lines), 1, 2);
	deny(denials, "connect", "a.org:443", "another rule");
	deny(denials, "connect", "a.org:444", "r");
	assert_int_equal(read_lines(&sink, &lines), 2);
	usleep(1100000);
	deny(denials, "connect", "a.org:443", "r");
	assert_int_equal(read_lines(&sink, &lines), 1);
	assert_non_null(strstr(lines.data, "\"times\":1001}"));
	const struct denial *list = denials_list(denials, &n, &total);
	assert_int_equal(n, 3);
	assert_int_equal(total, 1003);
	assert_int_equal(list[0].times, 1001);
	denials_free(denials);
	close_sink(&sink);
}

/* The number at the end of the last line, which has these members. */
static uint64_t times_in(const struct buf *lines, const char *members)
{
	const char *found = NULL;

	for (const char *at = lines->data; (at = strstr(at, members)); at++)
		found = at;
	assert_non_null(found);
	return strtoull(strstr(found, "\"times\":") + strlen("\"times\":"), NULL, 10);
}

/* The sum of the numbers of all lines, if each denial has one line. */
static uint64_t sum_of_times(const struct buf *lines)
{
	uint64_t sum = 0;

	for (const char *at = lines->data; (at = strstr(at, "\"times\":")); at++)
		sum += strtoull(at + strlen("\"times\":"), NULL, 10);
	return sum;
}

static void counts_a_flood(void **state)
{
	/* Under valgrind the flood lasts for seconds, and each second has a line with the sum. */
	if (valgrind_runs()) {
		printf("# skip: valgrind\n");
		skip();
	}
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	owned(buf_release) struct buf lines = BUF_INIT, all = BUF_INIT;
	uint64_t total;
	size_t n;

	for (int i = 0; i < 5000; i++) {
		char subject[32];

		snprintf(subject, sizeof(subject), "/%d", i);
		deny(denials, "write", subject, "r");
		assert_in_range(read_lines(&sink, &lines), 0, 2);
		buf_add(&all, lines.data, lines.len);
	}
	denials_flush(denials);
	(void)read_lines(&sink, &lines);
	buf_add(&all, lines.data, lines.len);
	const struct denial *list = denials_list(denials, &n, &total);
	assert_int_equal(n, DENIALS_KEPT_MAX);
	assert_int_equal(total, 5000);
	assert_string_equal(list[0].subject, "/0");
	assert_string_equal(list[DENIALS_KEPT_MAX - 1].subject, "/99");
	/* Few lines, and none of the denials is missing from their sum. */
	assert_in_range(times_in(&all, "\"what\":\"more\""), 4000, 4900);
	assert_int_equal(sum_of_times(&all), 5000);
	denials_free(denials);
	close_sink(&sink);
}

static void counts_what_a_reader_does_not_take(void **state)
{
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	owned(buf_release) struct buf lines = BUF_INIT, own = BUF_INIT;
	char template[] = "/tmp/denials.XXXXXX", subject[3000];
	int file = mkstemp(template);
	size_t n;

	assert_true(file >= 0 && unlink(template) == 0);
	denials_add_sink(denials, file, DENIALS_OWN);
	/* Long lines fill the pipe, and a line that is longer than PIPE_BUF is never written. */
	for (int i = 0; i < 100; i++) {
		memset(subject, 'a', sizeof(subject));
		snprintf(subject, 32, "/%d", i);
		subject[strlen(subject)] = 'a';
		subject[sizeof(subject) - 1] = '\0';
		deny(denials, "write", subject, "r");
	}
	n = read_lines(&sink, &lines);
	assert_in_range(n, 10, 40);
	denials_flush(denials);
	assert_int_equal(read_lines(&sink, &lines), 1);
	assert_int_equal(times_in(&lines, "\"what\":\"more\""), 100 - n);
	/* The file has all denials, and what the pipe lacks. */
	buf_reserve(&own, 1 << 20);
	ssize_t size = pread(file, own.data, (1 << 20) - 1, 0);
	assert_true(size > 0);
	own.data[size] = '\0';
	assert_int_equal(times_in(&own, "denials that --denials lacks"), 100 - n);
	denials_free(denials);
	close(file);
	close_sink(&sink);
}

static void its_own_files_have_a_limit(void **state)
{
	struct denials *denials = denials_new(-1);
	char template[] = "/tmp/denials.XXXXXX";
	int file = mkstemp(template);
	struct stat st;

	assert_true(file >= 0 && unlink(template) == 0);
	assert_int_equal(ftruncate(file, 1 << 20), 0);
	assert_true(lseek(file, 0, SEEK_END) > 0);
	denials_add_sink(denials, file, DENIALS_OWN);
	for (int i = 0; i < 50; i++) {
		char subject[32];

		snprintf(subject, sizeof(subject), "/%d", i);
		deny(denials, "write", subject, "r");
	}
	assert_int_equal(fstat(file, &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
	denials_flush(denials);
	assert_int_equal(fstat(file, &st), 0);
	assert_in_range(st.st_size, (1 << 20) + 1, (1 << 20) + 1000);
	denials_free(denials);
	close(file);
}

static void keeps_without_a_sink(void **state)
{
	struct denials *denials = denials_new(-1);
	uint64_t total;
	size_t n;

	deny(denials, "execute", "/bin/x", "r");
	assert_string_equal(denials_list(denials, &n, &total)->what, "execute");
	assert_int_equal(n, 1);
	denials_free(denials);
	denials_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grants_are_written_each_time),
		cmocka_unit_test(writes_a_line_for_each),
		cmocka_unit_test(writes_the_same_once_a_second),
		cmocka_unit_test(counts_a_flood),
		cmocka_unit_test(counts_what_a_reader_does_not_take),
		cmocka_unit_test(its_own_files_have_a_limit),
		cmocka_unit_test(keeps_without_a_sink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
