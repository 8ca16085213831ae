/* buf: growth, NUL at the end, and the maximum size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"

static void appends_and_terminates(void **state)
{
	owned(buf_release) struct buf buf = BUF_INIT;

	buf_add(&buf, "ab", 2);
	buf_addf(&buf, "-%d", 7);
	assert_string_equal(buf.data, "ab-7");
	assert_int_equal(buf.len, 4);
}

static void stops_at_ceiling(void **state)
{
	owned(buf_release) struct buf buf = { .max = 8 };

	buf_add(&buf, "1234567", 7);
	assert_false(buf.overflowed);
	buf_add(&buf, "8", 1);
	assert_true(buf.overflowed);
	assert_int_equal(buf.len, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_and_terminates),
		cmocka_unit_test(stops_at_ceiling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
