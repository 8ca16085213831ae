/*
 * library: an existing library is loaded once, and the error for a missing one names the library
 * and its package.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/library.h"

#define LIBM "libm.so.6"

static struct {
	double (*floor)(double);
	void (*nothing)(void);
} lib;

static unsigned starts;

static bool start(void)
{
	starts++;
	return lib.floor(3.5) == 3;
}

static bool refuse(void)
{
	starts++;
	return false;
}

static const struct library_function functions[] = {
	{ "floor", &lib.floor },
	{ "strata_has_no_such_function", &lib.nothing },
};

static int setup(void **state)
{
	memset(&lib, 0, sizeof(lib));
	starts = 0;
	return 0;
}

static void loads_and_starts_once(void **state)
{
	struct library library = { .file = LIBM,
		.package = "libc6",
		.functions = functions,
		.n_functions = 1,
		.start = start };
	struct err err = { 0 };

	assert_int_equal(library_need(&library, &err), 0);
	assert_int_equal(library_need(&library, &err), 0);
	assert_int_equal(starts, 1);
	assert_true(lib.floor(-0.5) == -1);
	assert_int_equal(err.code, 0);
}

static void names_what_is_missing(void **state)
{
	static const struct {
		const char *file;
		size_t n_functions;
		const char *want;
		unsigned starts;
	} cases[] = {
		{ "libstrata-none.so.1", 1, "cannot load libstrata-none.so.1: ", 0 },
		{ LIBM, 2, "cannot load " LIBM ": it has no strata_has_no_such_function", 0 },
		{ LIBM, 1, "cannot load " LIBM ": it does not start", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct library library = { .file = cases[i].file,
			.package = "the-package",
			.functions = functions,
			.n_functions = cases[i].n_functions,
			.start = refuse };

		starts = 0;
		/* The second call does not try again, and gives the same result. */
		for (int again = 0; again < 2; again++) {
			struct err err = { 0 };

			assert_int_equal(library_need(&library, &err), -ERR_UNSUPPORTED);
			if (strncmp(err.text, cases[i].want, strlen(cases[i].want)) != 0)
				fail_msg("%s", err.text);
			assert_string_equal(err.hint, "install the package the-package");
		}
		assert_int_equal(starts, cases[i].starts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(loads_and_starts_once, setup),
		cmocka_unit_test_setup(names_what_is_missing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
