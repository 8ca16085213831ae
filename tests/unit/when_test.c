/* when: ISO 8601, phrases, and times for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/when.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Wednesday 2024-03-13 10:20:30.5 UTC */
#define NOW (INT64_C(1710325230) * WHEN_SECOND + WHEN_SECOND / 2)

struct time_case {
	const char *text;
	const char *iso;
};

static void check_times(const struct time_case *cases, size_t count, int64_t now)
{
	for (size_t i = 0; i < count; i++) {
		struct err err = { 0 };
		int64_t instant;
		char out[40];

		if (when_parse(cases[i].text, now, &instant, &err) < 0)
			fail_msg("'%s': %s", cases[i].text, err.text);
		if (strcmp(when_iso(instant, out), cases[i].iso))
			fail_msg("'%s' gives %s, not %s", cases[i].text, out, cases[i].iso);
	}
}

static void reads_iso_8601(void **state)
{
	static const struct time_case cases[] = {
		{ "2026-11-15", "2026-11-15T00:00:00Z" },
		{ "2026-11-15T02:19", "2026-11-15T02:19:00Z" },
		{ "2026-11-15 02:19:51", "2026-11-15T02:19:51Z" },
		{ "  2026-11-15   02:19:51  ", "2026-11-15T02:19:51Z" },
		{ "2026-11-15t02:19:51z", "2026-11-15T02:19:51Z" },
		{ "2026-11-15T02:19:51.5Z", "2026-11-15T02:19:51.500000000Z" },
		{ "2026-11-15T02:19:51,25", "2026-11-15T02:19:51.250000000Z" },
		{ "2026-11-15T02:19:51.123456789Z", "2026-11-15T02:19:51.123456789Z" },
		{ "2026-11-15T02:19:51+02:00", "2026-11-15T00:19:51Z" },
		{ "2026-11-15T02:19:51+0530", "2026-11-14T20:49:51Z" },
		{ "2026-11-15T02:19:51-08", "2026-11-15T10:19:51Z" },
		{ "2026-11-15T02:19-00:00", "2026-11-15T02:19:00Z" },
		{ "2026-11-15 02:19:51 +0100", "2026-11-15T01:19:51Z" },
		{ "2024-02-29", "2024-02-29T00:00:00Z" },
		{ "2000-02-29", "2000-02-29T00:00:00Z" },
		{ "1970-01-01", "1970-01-01T00:00:00Z" },
		{ "1969-12-31T23:59:59.999999999", "1969-12-31T23:59:59.999999999Z" },
		{ "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775807Z" },
		{ "1677-09-21T00:12:43.145224192Z", "1677-09-21T00:12:43.145224192Z" },
		{ "@0", "1970-01-01T00:00:00Z" },
		{ "@1710325230", "2024-03-13T10:20:30Z" },
		{ "@-1.25", "1969-12-31T23:59:58.750000000Z" },
		{ "@1.000000001", "1970-01-01T00:00:01.000000001Z" },
	};

	check_times(cases, COUNT(cases), NOW);
}

static void reads_phrases(void **state)
{
	static const struct time_case cases[] = {
		{ "now", "2024-03-13T10:20:30.500000000Z" },
		{ "Today", "2024-03-13T00:00:00Z" },
		{ "YESTERDAY", "2024-03-12T00:00:00Z" },
		{ "0 seconds ago", "2024-03-13T10:20:30.500000000Z" },
		{ "1 second ago", "2024-03-13T10:20:29.500000000Z" },
		{ "30 seconds ago", "2024-03-13T10:20:00.500000000Z" },
		{ "10 minutes ago", "2024-03-13T10:10:30.500000000Z" },
		{ "1 hours ago", "2024-03-13T09:20:30.500000000Z" },
		{ "2 day ago", "2024-03-11T10:20:30.500000000Z" },
		{ "  3\t Weeks   AGO ", "2024-02-21T10:20:30.500000000Z" },
		{ "3days ago", "2024-03-10T10:20:30.500000000Z" },
		{ "1 month ago", "2024-02-13T10:20:30.500000000Z" },
		{ "15 months ago", "2022-12-13T10:20:30.500000000Z" },
		{ "2 years ago", "2022-03-13T10:20:30.500000000Z" },
		{ "last hour", "2024-03-13T09:00:00Z" },
		{ "last day", "2024-03-12T00:00:00Z" },
		{ "last week", "2024-03-04T00:00:00Z" },
		{ "last  month", "2024-02-01T00:00:00Z" },
		{ "Last Year", "2023-01-01T00:00:00Z" },
		{ "90s", "2024-03-13T10:19:00.500000000Z" },
		{ "5m", "2024-03-13T10:15:30.500000000Z" },
		{ "12H", "2024-03-12T22:20:30.500000000Z" },
		{ "3d", "2024-03-10T10:20:30.500000000Z" },
		{ "1 w", "2024-03-06T10:20:30.500000000Z" },
	};

	check_times(cases, COUNT(cases), NOW);
}

static void clamps_to_the_end_of_shorter_months(void **state)
{
	struct err err = { 0 };
	int64_t march_31, leap_day;
	static const struct time_case from_march_31[] = {
		{ "1 month ago", "2023-02-28T12:00:00Z" },
		{ "4 months ago", "2022-11-30T12:00:00Z" },
		{ "2 months ago", "2023-01-31T12:00:00Z" },
		{ "last month", "2023-02-01T00:00:00Z" },
	};
	static const struct time_case from_leap_day[] = {
		{ "1 year ago", "2023-02-28T00:00:00Z" },
		{ "4 years ago", "2020-02-29T00:00:00Z" },
		{ "12 months ago", "2023-02-28T00:00:00Z" },
	};

	assert_int_equal(when_parse("2023-03-31 12:00", 0, &march_31, &err), 0);
	check_times(from_march_31, COUNT(from_march_31), march_31);
	assert_int_equal(when_parse("2024-02-29", 0, &leap_day, &err), 0);
	check_times(from_leap_day, COUNT(from_leap_day), leap_day);
}

static void starts_weeks_on_monday(void **state)
{
	static const struct time_case monday[] = { { "last week", "2024-03-04T00:00:00Z" } };
	static const struct time_case before_1970[] = {
		{ "last week", "1969-12-15T00:00:00Z" },
		{ "last hour", "1969-12-27T22:00:00Z" },
		{ "today", "1969-12-27T00:00:00Z" },
		{ "1 month ago", "1969-11-27T23:59:59.900000000Z" },
	};
	struct err err = { 0 };
	int64_t now;

	assert_int_equal(when_parse("2024-03-11", 0, &now, &err), 0);
	check_times(monday, COUNT(monday), now);
	assert_int_equal(when_parse("2024-03-17T23:59:59.999", 0, &now, &err), 0);
	check_times(monday, COUNT(monday), now);
	assert_int_equal(when_parse("1969-12-27T23:59:59.9", 0, &now, &err), 0);
	check_times(before_1970, COUNT(before_1970), now);
}

static void refuses_what_is_no_time(void **state)
{
	static const char *const cases[] = { "", " ", "tomorrow", "2026", "2026-1-1", "2026-13-01",
		"2026-00-01", "2026-01-00", "2026-02-30", "2026-02-29", "1900-02-29", "2026-04-31",
		"2026-01-01T", "2026-01-01T1:00", "2026-01-01T24:00", "2026-01-01T12:60",
		"2026-01-01T12:00:60", "2026-01-01T12:00:00.", "2026-01-01T12:00:00.1234567890",
		"2026-01-01T12:00:00+24:00", "2026-01-01T12:00:00+01:60", "2026-01-01T12:00:00+1",
		"2026-01-01T12:00:00+01:", "2026-01-01T12:00:00+01:000", "2026-01-01T12:00:00Zx",
		"2026-01-01x", "2026-01-01Z", "20260101", "-2026-01-01", "3", "3x", "3 dayss ago",
		"3 s ago", "-3d", "3 days", "days ago", "3 days ago!", "3 days ago ago",
		"3.5 days ago", "last", "last second", "last minute", "last days", "last week ago",
		"now now", "nowx", "@", "@x", "@1x", "@1.", "@--1", "123456789012d",
		"@99999999999999999999" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };
		int64_t instant = 7;

		if (when_parse(cases[i], NOW, &instant, &err) != -ERR_INVALID)
			fail_msg("'%s' is taken for a time", cases[i]);
		assert_int_equal(instant, 7);
		assert_int_not_equal(err.hint[0], '\0');
	}
}

static void refuses_times_out_of_range(void **state)
{
	static const char *const cases[] = { "0000-01-01", "1677-09-21T00:12:43.145224191Z",
		"2262-04-11T23:47:16.854775808Z", "9999-12-31", "99999999999 years ago",
		"99999999999w", "3000 years ago", "5000 months ago", "@99999999999",
		"@-99999999999" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };
		int64_t instant = 7;

		assert_int_equal(when_parse(cases[i], NOW, &instant, &err), -ERR_INVALID);
		assert_non_null(strstr(err.text, "out of range"));
		assert_int_equal(instant, 7);
	}
}

static void prints_any_instant_as_iso(void **state)
{
	char out[40];

	assert_string_equal(when_iso(0, out), "1970-01-01T00:00:00Z");
	assert_string_equal(when_iso(-1, out), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(when_iso(INT64_MIN, out), "1677-09-21T00:12:43.145224192Z");
	assert_string_equal(when_iso(INT64_MAX, out), "2262-04-11T23:47:16.854775807Z");
}

static void prints_local_time(void **state)
{
	char out[40];

	setenv("TZ", "XYZ-3", 1);
	tzset();
	assert_string_equal(when_local(NOW, out), "2024-03-13 13:20:30");
	unsetenv("TZ");
	tzset();
}

static void prints_how_long_ago_it_was(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{ 0, "now" },
		{ 1, "1 second ago" },
		{ 59, "59 seconds ago" },
		{ 60, "1 minute ago" },
		{ 3599, "59 minutes ago" },
		{ 7200, "2 hours ago" },
		{ 13 * 86400, "13 days ago" },
		{ 60 * 86400, "2 months ago" },
		{ 3 * 365 * 86400, "3 years ago" },
		{ -90, "in 1 minute" },
		{ -2 * 86400, "in 2 days" },
	};
	char out[40];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(when_relative(NOW - cases[i].seconds * WHEN_SECOND, NOW, out),
			cases[i].text);
	assert_string_equal(when_relative(NOW - 1, NOW, out), "now");
	assert_string_equal(when_relative(INT64_MIN, INT64_MAX, out), "584 years ago");
	assert_string_equal(when_relative(INT64_MAX, INT64_MIN, out), "in 584 years");
}

static void takes_the_clock_from_the_environment(void **state)
{
	int64_t real;

	setenv("STRATA_NOW", "1710325230", 1);
	assert_int_equal(when_now(), INT64_C(1710325230) * WHEN_SECOND);
	setenv("STRATA_NOW", "1710325230.5", 1);
	assert_int_equal(when_now(), NOW);
	setenv("STRATA_NOW", "soon", 1);
	real = when_now();
	assert_true(real > NOW);
	unsetenv("STRATA_NOW");
	assert_true(when_now() >= real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_iso_8601),
		cmocka_unit_test(reads_phrases),
		cmocka_unit_test(clamps_to_the_end_of_shorter_months),
		cmocka_unit_test(starts_weeks_on_monday),
		cmocka_unit_test(refuses_what_is_no_time),
		cmocka_unit_test(refuses_times_out_of_range),
		cmocka_unit_test(prints_any_instant_as_iso),
		cmocka_unit_test(prints_local_time),
		cmocka_unit_test(prints_how_long_ago_it_was),
		cmocka_unit_test(takes_the_clock_from_the_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
