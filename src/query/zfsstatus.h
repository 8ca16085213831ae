/*
 * zfsstatus - reads the output of zpool status, which is made for people.
 *
 * The output has a paragraph for each pool.  A line such as " state: ONLINE" begins a fact, and the
 * lines after it that begin with a tab continue it.  "config:" is followed by a table of devices,
 * whose columns stand where its heading has them.  Anything else is ignored.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "query/pool.h"

#define ZFSSTATUS_DEVICES_MAX 65536 /* of one pool */

/*
 * Call visit for each pool.  Its texts are in arena or in text.  visit may return 1 to stop without
 * an error.  Fails with ERR_CORRUPT if text is not empty and names no pool.
 */
int zfsstatus_read(
	struct str text, struct arena *arena, pool_status_visit visit, void *arg, struct err *err);
