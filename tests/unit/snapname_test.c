/* snapname: the names that are accepted, and the times and classes in names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/when.h"
#include "query/snapname.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void names_have_a_form(void **state)
{
	static const char *const both[] = { "a", "_", "0", "a b", "a.b:c-d", "a..", "a-" };
	static const char *const none[] = { "", " a", "a ", ".a", "-a", ":a", "a+", "a@b", "a\n",
		"\xff" };

	for (size_t i = 0; i < COUNT(both); i++) {
		assert_true(snapname_is_dataset(str_of(both[i])));
		assert_true(snapname_is_snapshot(str_of(both[i])));
	}
	for (size_t i = 0; i < COUNT(none); i++) {
		assert_false(snapname_is_dataset(str_of(none[i])));
		assert_false(snapname_is_snapshot(str_of(none[i])));
	}
	assert_true(snapname_is_dataset(STR("a/b")));
	assert_false(snapname_is_dataset(STR("/a")));
	assert_false(snapname_is_snapshot(STR("a/b")));
	assert_false(snapname_is_snapshot(STR("a\0b")));
}

static void finds_the_time_in_a_name(void **state)
{
	static const struct {
		const char *name, *time;
	} cases[] = {
		{ "2024-01-31", "2024-01-31" },
		{ "2024-01-31-093000", "2024-01-31T09:30:00" },
		{ "2024-01-31_09-30-01", "2024-01-31T09:30:01" },
		{ "autosnap_2024-01-31_00:00:01_hourly", "2024-01-31T00:00:01" },
		{ "zfs-auto-snap_daily-2024-01-31-0917", "2024-01-31T09:17:00" },
		{ "GMT-2024.01.31-09.30.00", "2024-01-31T09:30:00" },
		{ "20240131T093000Z", "2024-01-31T09:30:00" },
		{ "home.20240131T0930", "2024-01-31T09:30:00" },
		{ "20240131093000", "2024-01-31T09:30:00" },
		{ "2024-01-31T09:30:00-0500", "2024-01-31T14:30:00" },
		{ "2024-01-31T09:30-05:00", "2024-01-31T14:30:00" },
		{ "2024-01-31 09:30", "2024-01-31T09:30:00" },
		{ "v1-2024-02-29.old", "2024-02-29" },
		{ "2024-01-31-1", "2024-01-31" },
		{ "2023-02-29-then-2024-02-29", "2024-02-29" },
	};
	static const char *const none[] = { "", "hourly.0", "2024", "2024-13-01", "2023-02-29",
		"2024-01/31", "202401", "1234567890", "12024-01-31", "2024-01-311", "2024-0131",
		"1969-01-01", "20240131093", "9999-99-99" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };
		int64_t expected = 0, found = 0;

		assert_int_equal(when_parse(cases[i].time, 0, &expected, &err), 0);
		if (!snapname_time(str_of(cases[i].name), &found) || found != expected)
			fail_msg("%s: %lld", cases[i].name, (long long)found);
	}
	for (size_t i = 0; i < COUNT(none); i++) {
		int64_t found;

		if (snapname_time(str_of(none[i]), &found))
			fail_msg("%s: %lld", none[i], (long long)found);
	}
}

static void orders_numbered_names_backwards(void **state)
{
	static const char *const order[] = { "daily", "daily.10", "daily.2", "daily.1", "daily.0",
		"daily.x", "hourly.3", "hourly.0" };

	for (size_t i = 0; i < COUNT(order); i++)
		for (size_t k = 0; k < COUNT(order); k++) {
			int found = snapname_compare(str_of(order[i]), str_of(order[k]));

			if ((found > 0) - (found < 0) != (i > k) - (i < k))
				fail_msg("%s %s: %d", order[i], order[k], found);
		}
}

static void knows_the_class_by_a_word(void **state)
{
	assert_int_equal(snapname_class(STR("hourly.0")), SNAPNAME_HOURLY);
	assert_int_equal(snapname_class(STR("autosnap_x_frequently")), SNAPNAME_FREQUENT);
	assert_int_equal(snapname_class(STR("zfs-auto-snap_monthly-x")), SNAPNAME_MONTHLY);
	assert_int_equal(snapname_class(STR("weekly")), SNAPNAME_WEEKLY);
	assert_int_equal(snapname_class(STR("yearly")), SNAPNAME_OTHER);
	assert_int_equal(snapname_class(STR("")), SNAPNAME_OTHER);
	assert_string_equal(snapname_class_name(SNAPNAME_DAILY), "daily");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_a_form),
		cmocka_unit_test(finds_the_time_in_a_name),
		cmocka_unit_test(orders_numbered_names_backwards),
		cmocka_unit_test(knows_the_class_by_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
