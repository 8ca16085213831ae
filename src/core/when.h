/*
 * when - points in time: ISO 8601 and phrases such as '3 days ago' (docs/QUERY.md).
 *
 * All instants are nanoseconds since the epoch, UTC.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"

#define WHEN_SECOND INT64_C(1000000000)
/* Whole seconds, in the years 2262 and 1677; file times may lie beyond. */
#define WHEN_LAST ((INT64_MAX / WHEN_SECOND - 1) * WHEN_SECOND)
#define WHEN_FIRST (-WHEN_LAST)
#define WHEN_MS INT64_C(1000000)

int64_t when_monotonic(void); /* ns of a clock that is never set, for measuring */
/* Now, by the clock of file times: at most one tick behind. */
int64_t when_coarse(void);
/* A time of the kernel, given in two parts; clamped to WHEN_FIRST and WHEN_LAST. */
int64_t when_of(int64_t sec, uint32_t nsec);
/* Whole seconds, rounded down also before the epoch. */
static inline int64_t when_seconds(int64_t instant)
{
	return instant / WHEN_SECOND - (instant % WHEN_SECOND < 0);
}
int when_ms_left(int64_t deadline); /* of when_monotonic(), for poll: rounded up, at least 0 */
void when_pause(int64_t ns);        /* shorter if a signal comes */
int64_t when_now(void);             /* $STRATA_NOW (unix seconds, for tests) if set */

/*
 * Parse text relative to now: ISO 8601 (naive = UTC), now, today, yesterday,
 * 'N seconds|minutes|hours|days|weeks|months|years ago', 'last hour|day|week|month|year'
 * (start of the previous period, weeks start Monday), N[smhdw] as in 3d, @UNIXSECONDS.
 * Months and years go back by the calendar, to the last day of a month too short.
 * ERR_INVALID when it is none of these or not between the years 1677 and 2262.
 */
int when_parse(const char *text, int64_t now, int64_t *instant, struct err *err);

/* "2026-11-15T02:19:51.123456789Z", nanoseconds left out when zero; out has 40 bytes. */
#define WHEN_ISO 40
const char *when_iso(int64_t instant, char out[WHEN_ISO]);
/* "2026-11-15 02:19:51", local time, for people; out has 40 bytes. */
const char *when_local(int64_t instant, char out[40]);
/* "3 minutes ago", "in 2 days", "now" below a second; out has 40 bytes. */
const char *when_relative(int64_t instant, int64_t now, char out[40]);
