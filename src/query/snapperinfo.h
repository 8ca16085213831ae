/*
 * snapperinfo - reads the info.xml that snapper writes beside a snapshot.
 *
 * The file is small and has a fixed form: one element "snapshot", which contains one element for
 * each member.  Only the parts of XML that this form needs are supported: elements, text, the five
 * named character references, numeric character references, comments and processing instructions.
 * A file with other parts is malformed.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"

#define SNAPPERINFO_MAX ((size_t)64 << 10) /* bytes of the file */

struct snapperinfo {
	uint64_t number;
	int64_t date;     /* ns; INT64_MIN: none */
	const char *type; /* "single", "pre" or "post"; NULL: none, as in the members below */
	const char *description; /* UTF-8 without control characters */
	const char *cleanup;     /* the algorithm that removes the snapshot, such as "timeline" */
};

/* Returns false if 'text' is malformed.  The texts of *info are in arena. */
bool snapperinfo_parse(struct str text, struct arena *arena, struct snapperinfo *info);
