/* valgrind_fixture - skips a test program under valgrind, which does not know pidfd_open(2). */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool valgrind_runs(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

/* Report the whole program as one test that was skipped.  Returns the status of main. */
static inline int valgrind_skip_all(void)
{
	printf("1..1\nok 1 - all of it # SKIP valgrind\n");
	return 0;
}
