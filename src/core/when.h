/*
 * when - points in time: ISO 8601 and phrases such as '3 days ago' (docs/QUERY.md).
 *
 * All instants are nanoseconds since the epoch, UTC.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"

#define WHEN_SECOND INT64_C(1000000000)
/*
 * The last and the first instant that strata uses.  They are whole seconds, in the years 2262 and
 * 1677.  File times may lie beyond them.
 */
#define WHEN_LAST ((INT64_MAX / WHEN_SECOND - 1) * WHEN_SECOND)
#define WHEN_FIRST (-WHEN_LAST)
#define WHEN_MS INT64_C(1000000)

int64_t when_monotonic(void); /* ns of a clock that is never set, for measuring durations */
/* The current time of the clock that sets file times.  This clock is at most one tick behind. */
int64_t when_coarse(void);
/*
 * Returns the instant of a time that the kernel gives in two parts, limited to WHEN_FIRST and
 * WHEN_LAST.
 */
int64_t when_of(int64_t sec, uint32_t nsec);
/* An instant in whole seconds, rounded down, also before the epoch. */
static inline int64_t when_seconds(int64_t instant)
{
	return instant / WHEN_SECOND - (instant % WHEN_SECOND < 0);
}
int when_ms_left(int64_t deadline); /* ms to deadline (of when_monotonic), at least 0 */
void when_pause(int64_t ns);        /* sleep; a signal ends it early */
int64_t when_now(void);             /* the time, or $STRATA_NOW (unix seconds, for tests) */

/*
 * Read a time.  Accepted are: ISO 8601 (UTC unless it has an offset); now, today, yesterday; 'N
 * seconds|minutes|hours|days|weeks|months|years ago'; 'last hour|day|week|month|year', which is the
 * start of the previous hour and so on (a week starts on Monday); N[smhdw], as in 3d; and
 * @UNIXSECONDS.  Months and years go back by the calendar.  If the resulting month is too short for
 * the day, the last day of that month is taken.  Returns ERR_INVALID for any other text, and for a
 * time outside the years 1677 to 2262.
 */
int when_parse(const char *text, int64_t now, int64_t *instant, struct err *err);

/*
 * Write "2026-11-15T02:19:51.123456789Z" into 'out'.  Returns 'out'.  Nanoseconds are left out if
 * they are zero.
 */
#define WHEN_ISO 40
const char *when_iso(int64_t instant, char out[WHEN_ISO]);
/* Write the local time for people, "2026-11-15 02:19:51", into 'out'.  Returns 'out'. */
const char *when_local(int64_t instant, char out[40]);
/* Write "3 minutes ago", "in 2 days", or "now" (less than a second) into 'out'.  Returns 'out'. */
const char *when_relative(int64_t instant, int64_t now, char out[40]);
