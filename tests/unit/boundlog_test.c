/* boundlog: keeps the beginning and the end of the written bytes, in a file of limited size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ops/boundlog.h"

#define LIMIT 20

/*
 * Returns letters in a fixed order for the bytes 0, 1, 2 ..., so that each position can be
 * recognised.
 */
static char letter(size_t i)
{
	return (char)('a' + i % 26);
}

static void keeps_both_ends(void **state)
{
	(void)state;
	for (size_t total = 0; total < 100; total++)
		for (size_t piece = 1; piece < 45; piece += 4) {
			struct boundlog log = BOUNDLOG_INIT;
			char bytes[128], got[200] = "", want[200] = "";
			int fd = memfd_create("log", MFD_CLOEXEC);

			boundlog_init_take(&log, dup(fd), LIMIT);
			for (size_t i = 0; i < total; i++)
				bytes[i] = letter(i);
			for (size_t at = 0; at < total; at += piece)
				boundlog_add(
					&log, (struct str){ bytes + at,
						      at + piece < total ? piece : total - at });
			boundlog_finish(&log);
			assert_int_equal(log.fd, -1);
			if (total <= LIMIT)
				memcpy(want, bytes, total);
			else
				snprintf(want, sizeof(want),
					"%.*s\n== %zu bytes were left out here\n%.*s", LIMIT / 2,
					bytes, total - LIMIT, LIMIT / 2, bytes + total - LIMIT / 2);
			assert_true(pread(fd, got, sizeof(got) - 1, 0) >= 0);
			assert_string_equal(got, want);
			close(fd);
		}
}

static void none_takes_everything(void **state)
{
	struct boundlog log = BOUNDLOG_INIT;

	(void)state;
	boundlog_add(&log, STR("lost"));
	boundlog_finish(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_both_ends),
		cmocka_unit_test(none_takes_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
