/*
 * scan_adopt - what the history says of a file and the live tree cannot.
 *
 * After a checkout the files on disk are new to the index, but we know their content: we wrote it.
 * A file that is still as treeapply left it (applied.h) gets the content hash of the tree without
 * being read.
 *
 * Attributes that this machine did not accept, such as a foreign owner or a device, are in the
 * history only.  An override in the index keeps them for as long as no program changes the
 * attribute.
 */
#pragma once
#include "tree/applied.h"
#include "tree/entry.h"
#include "tree/windex.h"

/* A name on its way into the index. */
struct scan_adopt {
	struct windex_record now;
	struct hash found;             /* attributes on disk */
	struct hash xattrs;            /* attributes as the history has them */
	struct windex_override wanted; /* if override */
	bool override;
};

/*
 * If the file is still what treeapply made of entry, take over the entry's hash and attributes, and
 * return true.  old is the previous record of the name, or NULL.
 */
bool scan_adopt_entry(struct scan_adopt *item, const struct entry *entry,
	const struct applied *applied, const struct windex_record *old);
/* Keep the overrides of the old record whose attributes no program has changed. */
void scan_adopt_carry(struct scan_adopt *item, const struct windex_item *old);
