/*
 * renames - pairs files and directories that are gone with new ones of the same content.
 *
 * There are two lists: one for entries that are gone, and one for entries that are new.  Each list
 * is in path order, with a directory before everything in it.  Entries without content are never
 * paired.
 */
#pragma once
#include <stddef.h>

#include "tree/entry.h"

#define RENAMES_MAX 100000 /* maximum number of entries in each list; treediff adds no more */

struct renames_item {
	uint64_t key; /* made from the content hash; 0: never part of a rename */
	/* index of the next entry that is not below this one; the caller must set it */
	uint32_t end;
	int32_t match;      /* index of the match in the other list; -1: none */
	bool below_match;   /* a directory above this entry was renamed as a whole */
	struct entry entry; /* the entry; its name and target are empty */
	struct str path;    /* as the caller gave it */
};

struct renames_list {
	struct renames_item *list;
	size_t n, cap;
};

/* Add an entry, and return its index.  The path is not copied, and may be empty. */
size_t renames_add(struct renames_list *list, const struct entry *entry, struct str path);
/*
 * Set the content hash of an entry.  Two entries with the same hash are a match.  If 'hash' is
 * NULL, the entry gets no match.
 */
void renames_set_hash(struct renames_item *item, const struct hash *hash);
/*
 * Pair each new entry with a gone entry of the same content, in path order.  Directories are paired
 * first, and nothing in a pair of directories is paired again.
 */
void renames_match(struct renames_list *gone, struct renames_list *come);
void renames_release(struct renames_list *list);
