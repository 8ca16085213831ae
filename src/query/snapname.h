/*
 * snapname - the forms of the names of datasets and snapshots (docs/QUERY.md), and times and
 * classes in names.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/str.h"

/* Whether a name matches [A-Za-z0-9_][A-Za-z0-9_.:/ -]* and does not end in a space. */
bool snapname_is_dataset(struct str name);
/*
 * As snapname_is_dataset, but without '/'.  In the full name of a snapshot, the part after the '@'
 * has this form.
 */
bool snapname_is_snapshot(struct str name);
/* As snapname_is_dataset, but without '/'. */
bool snapname_is_pool(struct str name);
/* Whether a name matches [A-Za-z0-9][A-Za-z0-9_.:-]*. */
bool snapname_is_property(struct str name);

/*
 * Find the first date in a name.  A date looks like 2024-01-31, with '-', '_', '.', ':' or nothing
 * between its parts.  A time of day such as T09:30:00 may follow, with the same separators.
 * Without a time of day, the result is the beginning of the day.  The time of day may have a zone,
 * as in T09:30:00-0500.  Otherwise the zone is UTC.  Returns false if there is no date.
 */
bool snapname_time(struct str name, int64_t *instant);
/*
 * Compare the names of two snapshots with the same time.  The name of the older snapshot is the
 * smaller one.  A number after the last dot counts backwards: hourly.0 of rsnapshot is newer than
 * hourly.1.
 */
int snapname_compare(struct str a, struct str b);

/*
 * The class of a snapshot: how often such snapshots are made.  A word in the name of the snapshot
 * shows this.
 */
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
