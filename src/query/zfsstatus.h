/*
 * zfsstatus - reads the output of zpool status, which is made for people.
 *
 * The output has a paragraph for each pool.  A line such as " state: ONLINE" begins a fact.  Lines
 * of another form after it continue the fact.  After "config:" there is a table of devices, whose
 * heading shows the positions of the columns.  Unknown facts are ignored.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "query/pool.h"

#define ZFSSTATUS_DEVICES_MAX 65536 /* maximum number of devices in one pool */

/*
 * Call visit for each pool.  The texts of a pool are in 'arena' or in 'text'.  'visit' may return 1
 * to stop without an error.  Fails with ERR_CORRUPT if 'text' is not empty but names no pool.
 */
int zfsstatus_read(
	struct str text, struct arena *arena, pool_status_visit visit, void *arg, struct err *err);
