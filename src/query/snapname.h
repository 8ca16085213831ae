/* snapname - the forms of the names of datasets and snapshots (docs/QUERY.md), and what they say.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

/* [A-Za-z0-9_][A-Za-z0-9_.:/ -]* without a space at the end */
bool snapname_is_dataset(struct str name);
/* The same without '/': the part of a snapshot's full name behind the '@'. */
bool snapname_is_snapshot(struct str name);

/*
 * Find the first time in a name: a date such as 2024-01-31, with '-', '_', '.', ':' or nothing
 * between its parts, and behind it perhaps a time such as T09:30:00, with the same choice.  Without
 * a time, it is the beginning of the day.  A time has no zone (UTC) or one as in T09:30:00-0500.
 * Returns false if there is none.
 */
bool snapname_time(struct str name, int64_t *instant);
/*
 * The order of names whose snapshots have the same time, the older first.  A number behind the last
 * dot counts backwards, as in hourly.0 of rsnapshot, which is newer than hourly.1.
 */
int snapname_compare(struct str a, struct str b);

/* How often snapshots of this kind are made, by a word in the name. */
enum snapname_class {
	SNAPNAME_FREQUENT,
	SNAPNAME_HOURLY,
	SNAPNAME_DAILY,
	SNAPNAME_WEEKLY,
	SNAPNAME_MONTHLY,
	SNAPNAME_OTHER,
	SNAPNAME_CLASSES,
};
enum snapname_class snapname_class(struct str name);
const char *snapname_class_name(enum snapname_class class);
