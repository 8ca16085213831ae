/* report: merged items count as if they had been added directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "tree/report.h"

static void takes_over_what_another_has(void **state)
{
	owned(report_release) struct report here = REPORT_INIT, there = REPORT_INIT;

	report_add(&here, REPORT_UNREADABLE, STR("a"), "why");
	report_add(&there, REPORT_UNREADABLE, STR("a"), "why");
	report_add(&there, REPORT_UNREADABLE, STR("b"), "50%% of %s", "it");
	report_add(&there, REPORT_VANISHED, STR("a"), "gone");
	report_merge(&here, &there);
	/* An item that is in both reports counts once. */
	assert_int_equal(here.count[REPORT_UNREADABLE], 2);
	assert_int_equal(here.count[REPORT_VANISHED], 1);
	assert_int_equal(here.n_items, 3);
	assert_string_equal(here.items[1].what, "50% of it");
	assert_int_equal(there.n_items, 3);
}

/* Items beyond the limit of the list are still counted. */
static void counts_what_is_not_listed(void **state)
{
	owned(report_release) struct report here = REPORT_INIT, there = REPORT_INIT;

	for (int i = 0; i < REPORT_LIST_MAX + 500; i++)
		report_add(&there, REPORT_VANISHED, STR("x"), "gone");
	for (int i = 0; i < 50; i++)
		report_add(&there, REPORT_LOGICAL, STR("x"), "owner");
	report_merge(&here, &there);
	assert_int_equal(here.count[REPORT_VANISHED], REPORT_LIST_MAX + 500);
	assert_int_equal(here.count[REPORT_LOGICAL], 50);
	assert_int_equal(here.n_items, REPORT_LIST_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_over_what_another_has),
		cmocka_unit_test(counts_what_is_not_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
