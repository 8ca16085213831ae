/*
 * scan_adopt - takes from the history those facts about a file that the live tree does not show.
 *
 * After a checkout the files on disk are new to the index, but their content is known, since
 * treeapply wrote it.  A file that is still as treeapply left it (applied.h) gets its content hash
 * from the tree, and is not read.
 *
 * Some attributes, such as a foreign owner or a device, cannot be set on this machine, so only the
 * history has them.  An override in the index keeps such an attribute until a program changes it.
 */
#pragma once
#include "tree/applied.h"
#include "tree/entry.h"
#include "tree/windex.h"

/* The data that is going to be recorded for one name. */
struct scan_adopt {
	struct windex_record now;
	struct hash found;             /* xattrs on disk */
	struct hash xattrs;            /* xattrs as the history has them */
	struct windex_override wanted; /* valid if 'override' is set */
	bool override;
};

/*
 * If the file is still as treeapply made it from the given entry, take over the hash and the
 * attributes of the entry, and return true.  'old' is the previous record of the name, or NULL.
 */
bool scan_adopt_entry(struct scan_adopt *item, const struct entry *entry,
	const struct applied *applied, const struct windex_record *old);
/* Keep each override of the old record unless a program has changed the attribute on disk. */
void scan_adopt_carry(struct scan_adopt *item, const struct windex_item *old);
