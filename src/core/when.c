/*
 * Each parser reads a text and returns a moment, or false when the text has another form.  A moment
 * can have any year.  Only when_parse, at the end, checks that the moment fits into an int64_t of
 * nanoseconds (years 1677 to 2262).
 */
#include "core/when.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "core/str.h"

#define MINUTE INT64_C(60)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define WEEK (7 * DAY)

/* A number of seconds or of years with this many digits fits an int64_t of seconds. */
#define NUMBER_DIGITS_MAX 11

struct moment {
	int64_t sec;
	int64_t nsec; /* 0 to 999999999, also before the epoch */
};

/* A moment that does not fit an int64_t of nanoseconds. */
#define OUT_OF_RANGE ((struct moment){ .sec = INT64_MIN })

static const struct unit {
	const char *name;
	char letter;     /* as in 3d; 0 where there is none */
	int64_t seconds; /* length of the unit; for month and year only an approximation */
	int64_t months;  /* number of months; 0 for units below a month */
} units[] = {
	{ "second", 's', 1, 0 },
	{ "minute", 'm', MINUTE, 0 },
	{ "hour", 'h', HOUR, 0 },
	{ "day", 'd', DAY, 0 },
	{ "week", 'w', WEEK, 0 },
	{ "month", 0, 30 * DAY, 1 },
	{ "year", 0, 365 * DAY, 12 },
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static int64_t floor_to(int64_t value, int64_t step)
{
	int64_t over = value % step;

	return value - (over < 0 ? over + step : over);
}

static struct moment moment_of(int64_t instant)
{
	struct moment moment = { instant / WHEN_SECOND, instant % WHEN_SECOND };

	if (moment.nsec < 0) {
		moment.sec--;
		moment.nsec += WHEN_SECOND;
	}
	return moment;
}

static bool to_instant(struct moment moment, int64_t *instant)
{
	/*
	 * A moment before the epoch is counted from the next whole second: for INT64_MIN ns, the
	 * whole second below would overflow.
	 */
	if (moment.sec < 0) {
		moment.sec++;
		moment.nsec -= WHEN_SECOND;
	}
	return !__builtin_mul_overflow(moment.sec, WHEN_SECOND, instant) &&
	       !__builtin_add_overflow(*instant, moment.nsec, instant);
}

/* ---------------------------------------------------------------- calendar */

static int days_in_month(int64_t year, int month)
{
	static const char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/*
 * Returns the same day and time of day some months earlier.  If the earlier month does not have
 * this day, the last day of that month is taken.
 */
static struct moment months_before(struct moment from, int64_t months)
{
	time_t sec = from.sec;
	struct tm tm;

	gmtime_r(&sec, &tm);
	months = (tm.tm_year + INT64_C(1900)) * 12 + tm.tm_mon - months;
	if (months < 12)
		return OUT_OF_RANGE;
	tm.tm_year = (int)(months / 12 - 1900);
	tm.tm_mon = (int)(months % 12);
	int last = days_in_month(months / 12, tm.tm_mon + 1);
	if (tm.tm_mday > last)
		tm.tm_mday = last;
	return (struct moment){ timegm(&tm), from.nsec };
}

static struct moment start_of_month(struct moment from, bool january)
{
	time_t sec = from.sec;
	struct tm tm;

	gmtime_r(&sec, &tm);
	struct tm start = {
		.tm_year = tm.tm_year,
		.tm_mon = january ? 0 : tm.tm_mon,
		.tm_mday = 1,
	};
	return (struct moment){ .sec = timegm(&start) };
}

static struct moment units_before(struct moment from, const struct unit *unit, int64_t count)
{
	if (unit->months)
		return months_before(from, count * unit->months);
	return (struct moment){ from.sec - count * unit->seconds, from.nsec };
}

static struct moment start_of_unit(struct moment from, const struct unit *unit)
{
	if (unit->months)
		return start_of_month(from, unit->months == 12);
	if (unit->seconds == WEEK) /* day 0 of the epoch was a Thursday */
		return (struct moment){ .sec = floor_to(from.sec + 3 * DAY, WEEK) - 3 * DAY };
	return (struct moment){ .sec = floor_to(from.sec, unit->seconds) };
}

/* ---------------------------------------------------------------- scanning */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_blanks(const char **p)
{
	while (**p == ' ' || **p == '\t')
		++*p;
}

static bool at_end(const char *p)
{
	skip_blanks(&p);
	return !*p;
}

static bool scan_char(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

/* Scan exactly count digits. */
static bool scan_digits(const char **p, int count, int64_t *value)
{
	*value = 0;
	for (int i = 0; i < count; i++, ++*p) {
		if (!is_digit(**p))
			return false;
		*value = *value * 10 + (**p - '0');
	}
	return true;
}

static bool scan_number(const char **p, int64_t *value)
{
	int count = 0;

	while (count <= NUMBER_DIGITS_MAX && is_digit((*p)[count]))
		count++;
	return count && count <= NUMBER_DIGITS_MAX && scan_digits(p, count, value);
}

/* Scan the digits of a fraction of a second.  *nsec becomes the fraction in nanoseconds. */
static bool scan_fraction(const char **p, int64_t *nsec)
{
	int count = 0;

	while (count <= 9 && is_digit((*p)[count]))
		count++;
	if (!count || count > 9)
		return false;
	(void)scan_digits(p, count, nsec);
	for (; count < 9; count++)
		*nsec *= 10;
	return true;
}

static struct str scan_word(const char **p)
{
	const char *start = *p;

	while ((**p >= 'a' && **p <= 'z') || (**p >= 'A' && **p <= 'Z'))
		++*p;
	return (struct str){ start, (size_t)(*p - start) };
}

static bool word_is(struct str word, const char *name)
{
	return word.len == strlen(name) && !strncasecmp(word.ptr, name, word.len);
}

static const struct unit *unit_named(struct str word)
{
	struct str singular = word;

	if (word.len > 1 && (word.ptr[word.len - 1] | 0x20) == 's')
		singular.len--;
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		if (word_is(singular, units[i].name))
			return &units[i];
	}
	return NULL;
}

static const struct unit *unit_lettered(struct str word)
{
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		if (units[i].letter && word.len == 1 && (word.ptr[0] | 0x20) == units[i].letter)
			return &units[i];
	}
	return NULL;
}

/* ----------------------------------------------------------------- parsing */

/* Parse [-]SECONDS[.FRACTION]. */
static bool parse_unix(const char *p, struct moment *moment)
{
	bool negative = scan_char(&p, '-');
	int64_t sec, nsec = 0;

	if (!scan_number(&p, &sec) || (scan_char(&p, '.') && !scan_fraction(&p, &nsec)))
		return false;
	if (!at_end(p))
		return false;
	if (negative) {
		sec = -sec - (nsec > 0);
		nsec = nsec ? WHEN_SECOND - nsec : 0;
	}
	*moment = (struct moment){ sec, nsec };
	return true;
}

/* Scan Z, +hh, +hhmm or +hh:mm.  *offset becomes the number of seconds to subtract to get UTC. */
static bool scan_offset(const char **p, int64_t *offset)
{
	int64_t hours, minutes = 0;

	*offset = 0;
	if (scan_char(p, 'Z') || scan_char(p, 'z'))
		return true;

	bool west = **p == '-';

	if (!scan_char(p, '+') && !scan_char(p, '-'))
		return false;
	if (!scan_digits(p, 2, &hours))
		return false;
	if ((scan_char(p, ':') || is_digit(**p)) && !scan_digits(p, 2, &minutes))
		return false;
	if (hours > 23 || minutes > 59)
		return false;
	*offset = hours * HOUR + minutes * MINUTE;
	if (west)
		*offset = -*offset;
	return true;
}

/*
 * Scan hh:mm[:ss[.fraction]] and an optional offset, and add them to *moment.  Before the call,
 * *moment must be midnight.
 */
static bool parse_clock(const char *p, struct moment *moment)
{
	int64_t hour, minute, second = 0, nsec = 0, offset = 0;

	if (!scan_digits(&p, 2, &hour) || !scan_char(&p, ':') || !scan_digits(&p, 2, &minute))
		return false;
	if (scan_char(&p, ':')) {
		if (!scan_digits(&p, 2, &second))
			return false;
		if ((scan_char(&p, '.') || scan_char(&p, ',')) && !scan_fraction(&p, &nsec))
			return false;
	}
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	skip_blanks(&p);
	if (*p && !scan_offset(&p, &offset))
		return false;
	if (!at_end(p))
		return false;
	moment->sec += hour * HOUR + minute * MINUTE + second - offset;
	moment->nsec = nsec;
	return true;
}

static bool parse_iso(const char *p, struct moment *moment)
{
	int64_t year, month, day;

	if (!scan_digits(&p, 4, &year) || !scan_char(&p, '-') || !scan_digits(&p, 2, &month) ||
		!scan_char(&p, '-') || !scan_digits(&p, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, (int)month))
		return false;
	struct tm tm = {
		.tm_year = (int)year - 1900,
		.tm_mon = (int)month - 1,
		.tm_mday = (int)day,
	};
	struct moment found = (struct moment){ .sec = timegm(&tm) };
	if (!at_end(p)) {
		if (*p == ' ' || *p == '\t')
			skip_blanks(&p);
		else if (!scan_char(&p, 'T') && !scan_char(&p, 't'))
			return false;
		if (!parse_clock(p, &found))
			return false;
	}
	*moment = found;
	return true;
}

/* Parse "3d" or "3 days ago". */
static bool parse_ago(const char *p, struct moment now, struct moment *moment)
{
	int64_t count;

	if (!scan_number(&p, &count))
		return false;
	skip_blanks(&p);
	struct str word = scan_word(&p);
	const struct unit *unit = unit_lettered(word);
	if (!unit) {
		unit = unit_named(word);
		skip_blanks(&p);
		if (!unit || !word_is(scan_word(&p), "ago"))
			return false;
	}
	if (!at_end(p))
		return false;
	*moment = units_before(now, unit, count);
	return true;
}

/* Parse "now", "today", "yesterday" or "last UNIT". */
static bool parse_words(const char *p, struct moment now, struct moment *moment)
{
	struct str word = scan_word(&p);
	struct moment midnight = { .sec = floor_to(now.sec, DAY) };
	struct moment found;

	if (word_is(word, "now")) {
		found = now;
	} else if (word_is(word, "today")) {
		found = midnight;
	} else if (word_is(word, "yesterday")) {
		found = (struct moment){ .sec = midnight.sec - DAY };
	} else if (word_is(word, "last")) {
		skip_blanks(&p);
		word = scan_word(&p);
		const struct unit *unit = unit_named(word);

		if (!unit || unit->seconds < HOUR || !word_is(word, unit->name))
			return false;
		found = units_before(start_of_unit(now, unit), unit, 1);
	} else {
		return false;
	}
	if (!at_end(p))
		return false;
	*moment = found;
	return true;
}

int when_parse(const char *text, int64_t now, int64_t *instant, struct err *err)
{
	struct moment from = moment_of(now);
	struct moment found;
	const char *p = text;
	int64_t result;
	bool known;

	skip_blanks(&p);
	if (*p == '@')
		known = parse_unix(p + 1, &found);
	else
		known = parse_iso(p, &found) || parse_ago(p, from, &found) ||
			parse_words(p, from, &found);
	if (!known) {
		(void)err_set(err, ERR_INVALID, "'%.80s' is not a time", text);
		return err_hint(err, "such as 2026-01-31T12:00:00Z, yesterday, '3 hours ago', "
				     "'last week', 3d or @UNIXSECONDS");
	}
	if (!to_instant(found, &result))
		return err_set(err, ERR_INVALID, "time '%.80s' is out of range", text);
	*instant = result;
	return 0;
}

int64_t when_of(int64_t sec, uint32_t nsec)
{
	if (sec >= WHEN_LAST / WHEN_SECOND)
		return WHEN_LAST;
	return sec < WHEN_FIRST / WHEN_SECOND ? WHEN_FIRST : sec * WHEN_SECOND + nsec;
}

int64_t when_coarse(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec * WHEN_SECOND + now.tv_nsec;
}

int64_t when_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * WHEN_SECOND + now.tv_nsec;
}

void when_pause(int64_t ns)
{
	const struct timespec length = { ns / WHEN_SECOND, ns % WHEN_SECOND };

	nanosleep(&length, NULL);
}

int when_ms_left(int64_t deadline)
{
	int64_t left = deadline - when_monotonic();

	if (left <= 0)
		return 0;
	return left / WHEN_MS >= INT_MAX ? INT_MAX : (int)((left + WHEN_MS - 1) / WHEN_MS);
}

int64_t when_now(void)
{
	const char *fixed = getenv("STRATA_NOW");
	struct moment moment;
	struct timespec now;
	int64_t instant;

	if (fixed && parse_unix(fixed, &moment) && to_instant(moment, &instant))
		return instant;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * WHEN_SECOND + now.tv_nsec;
}

/* ---------------------------------------------------------------- printing */

const char *when_iso(int64_t instant, char out[40])
{
	struct moment moment = moment_of(instant);
	time_t sec = moment.sec;
	struct tm tm;

	gmtime_r(&sec, &tm);
	size_t len = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	if (moment.nsec)
		snprintf(out + len, 40 - len, ".%09dZ", (int)moment.nsec);
	else
		snprintf(out + len, 40 - len, "Z");
	return out;
}

const char *when_local(int64_t instant, char out[40])
{
	time_t sec = moment_of(instant).sec;
	struct tm tm;

	localtime_r(&sec, &tm);
	strftime(out, 40, "%Y-%m-%d %H:%M:%S", &tm);
	return out;
}

const char *when_relative(int64_t instant, int64_t now, char out[40])
{
	bool future = instant > now;
	/* The distance between two instants may need all 64 bits. */
	uint64_t gap =
		future ? (uint64_t)instant - (uint64_t)now : (uint64_t)now - (uint64_t)instant;
	uint64_t seconds = gap / (uint64_t)WHEN_SECOND;
	size_t i = UNIT_COUNT - 1;

	if (!seconds) {
		snprintf(out, 40, "now");
		return out;
	}
	/* Weeks are skipped, since "13 days ago" says more than "1 week ago". */
	while (seconds < (uint64_t)units[i].seconds || units[i].seconds == WEEK)
		i--;
	unsigned long long count = seconds / (uint64_t)units[i].seconds;
	snprintf(out, 40, "%s%llu %s%s%s", future ? "in " : "", count, units[i].name,
		count == 1 ? "" : "s", future ? "" : " ago");
	return out;
}
