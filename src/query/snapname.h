/* snapname - the forms of the names of datasets and snapshots (docs/QUERY.md). */
#pragma once
#include <stdbool.h>

#include "core/str.h"

/* [A-Za-z0-9_][A-Za-z0-9_.:/ -]* without a space at the end */
bool snapname_is_dataset(struct str name);
/* The same without '/': the part of a snapshot's full name behind the '@'. */
bool snapname_is_snapshot(struct str name);
