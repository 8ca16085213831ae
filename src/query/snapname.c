#include "query/snapname.h"

#include <stdio.h>

#include "core/when.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool has_form(struct str name, const char *others)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!is_word(c) && (!i || !c || !strchr(others, c)))
			return false;
	}
	return name.len && name.ptr[name.len - 1] != ' ';
}

bool snapname_is_dataset(struct str name)
{
	return has_form(name, ".:/ -");
}

bool snapname_is_snapshot(struct str name)
{
	return has_form(name, ".: -");
}

bool snapname_is_pool(struct str name)
{
	return has_form(name, ".: -");
}

bool snapname_is_property(struct str name)
{
	return has_form(name, ".:-") && *name.ptr != '_';
}

/* ------------------------------------------------------------------------ times */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Remove a number of exactly this many digits from the start of the text. */
static bool take_number(struct str *text, size_t digits, int *number)
{
	*number = 0;
	if (text->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!is_digit(text->ptr[i]))
			return false;
		*number = *number * 10 + (text->ptr[i] - '0');
	}
	text->ptr += digits;
	text->len -= digits;
	return true;
}

/* Remove the first character of the text if it is one of 'of'.  Returns the character, or 0. */
static char take_one(struct str *text, const char *of)
{
	if (!text->len || !*text->ptr || !strchr(of, *text->ptr))
		return 0;
	text->len--;
	return *text->ptr++;
}

static bool at_digit(struct str text)
{
	return text.len && is_digit(*text.ptr);
}

struct parts {
	int year, month, day, hour, minute, second;
	char sign; /* sign of the time zone; 0: none */
	int zone_hour, zone_minute;
};

static bool take_date(struct str *text, struct parts *parts)
{
	if (!take_number(text, 4, &parts->year))
		return false;
	char between = take_one(text, "-_.:");
	if (!take_number(text, 2, &parts->month) || take_one(text, "-_.:") != between)
		return false;
	return take_number(text, 2, &parts->day) && parts->year >= 1970;
}

/*
 * Remove a time of day from the start of the text, which is the part of a name after a date.  If
 * there is no time of day, *text and *parts do not change.
 */
static void take_time(struct str *text, struct parts *parts)
{
	struct str rest = *text;
	struct parts read = *parts;
	bool iso = take_one(&rest, "Tt");

	if (!iso)
		(void)take_one(&rest, "-_. ");
	if (!take_number(&rest, 2, &read.hour))
		return;
	char between = take_one(&rest, "-_.:");
	if (!take_number(&rest, 2, &read.minute))
		return;
	struct str short_rest = rest;
	if (take_one(&rest, "-_.:") != between || !take_number(&rest, 2, &read.second)) {
		rest = short_rest;
		read.second = 0;
	}
	if (at_digit(rest))
		return;
	*text = rest;
	*parts = read;
	read.sign = iso ? take_one(&rest, "-+") : 0;
	if (!read.sign || !take_number(&rest, 2, &read.zone_hour))
		return;
	(void)take_one(&rest, ":");
	if (take_number(&rest, 2, &read.zone_minute) && !at_digit(rest))
		*parts = read;
}

static bool parse_at(struct str text, int64_t *instant)
{
	struct parts parts = { 0 };
	struct err err = { 0 };
	char iso[80];

	if (!take_date(&text, &parts))
		return false;
	take_time(&text, &parts);
	if (!parts.hour && !parts.minute && !parts.second && at_digit(text))
		return false;
	snprintf(iso, sizeof(iso), "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", parts.year,
		parts.month, parts.day, parts.hour, parts.minute, parts.second,
		parts.sign ? parts.sign : '+', parts.zone_hour, parts.zone_minute);
	return when_parse(iso, 0, instant, &err) >= 0;
}

bool snapname_time(struct str name, int64_t *instant)
{
	bool in_number = false;

	for (size_t i = 0; i < name.len; i++) {
		if (!in_number && parse_at((struct str){ name.ptr + i, name.len - i }, instant))
			return true;
		in_number = is_digit(name.ptr[i]);
	}
	return false;
}

/* ------------------------------------------------------------ order and classes */

struct numbered {
	struct str stem; /* the name without ".N" at its end */
	bool has_number;
	uint64_t number;
};

static struct numbered split_number(struct str name)
{
	struct numbered split = { .stem = name };
	size_t at = name.len;

	while (at && is_digit(name.ptr[at - 1]))
		at--;
	if (at == name.len || name.len - at > 18 || !at || name.ptr[at - 1] != '.')
		return split;
	split.has_number = true;
	split.stem.len = at - 1;
	for (; at < name.len; at++)
		split.number = split.number * 10 + (uint64_t)(name.ptr[at] - '0');
	return split;
}

int snapname_compare(struct str a, struct str b)
{
	struct numbered x = split_number(a), y = split_number(b);
	int order = str_cmp(x.stem, y.stem);

	if (order)
		return order;
	if (x.has_number != y.has_number)
		return x.has_number ? 1 : -1;
	if (x.number != y.number)
		return x.number > y.number ? -1 : 1;
	return str_cmp(a, b);
}

static const char *const class_names[SNAPNAME_CLASSES] = {
	[SNAPNAME_FREQUENT] = "frequent",
	[SNAPNAME_HOURLY] = "hourly",
	[SNAPNAME_DAILY] = "daily",
	[SNAPNAME_WEEKLY] = "weekly",
	[SNAPNAME_MONTHLY] = "monthly",
	[SNAPNAME_OTHER] = "other",
};

enum snapname_class snapname_class(struct str name)
{
	for (unsigned class = 0; class < SNAPNAME_OTHER; class ++)
		if (name.len &&
			memmem(name.ptr, name.len, class_names[class], strlen(class_names[class])))
			return (enum snapname_class) class;
	return SNAPNAME_OTHER;
}

const char *snapname_class_name(enum snapname_class class)
{
	return class_names[class];
}
