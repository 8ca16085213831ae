/* denials: each denial is written and kept, but the lines of a flood of denials are limited. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/denials.h"
#include "core/own.h"

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

static void survives_a_flood(void **state)
{
	struct sink sink = new_sink();
	struct denials *denials = denials_new(sink.write);
	owned(buf_release) struct buf lines = BUF_INIT;
	uint64_t total;
	size_t n;

	for (int i = 0; i < 5000; i++) {
		char subject[32];

		snprintf(subject, sizeof(subject), "/%d", i);
		deny(denials, "write", subject, "r");
		/* The reader reads at first, and then stops reading. */
		if (i < 2500)
			assert_in_range(read_lines(&sink, &lines), 0, 1);
	}
	const struct denial *list = denials_list(denials, &n, &total);
	assert_int_equal(n, DENIALS_KEPT_MAX);
	assert_int_equal(total, 5000);
	assert_string_equal(list[0].subject, "/0");
	assert_string_equal(list[DENIALS_KEPT_MAX - 1].subject, "/99");
	denials_free(denials);
	close_sink(&sink);
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
		cmocka_unit_test(survives_a_flood),
		cmocka_unit_test(keeps_without_a_sink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
