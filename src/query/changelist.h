/*
 * changelist - holds the changes that viewdiff finds, until it is known which of them are renames.
 *
 * The caller must add the changes in path order.  A directory that is gone or new comes first, then
 * everything below it, then a call of changelist_end.  If there are too many changes, the list
 * reports the changes that it holds, with the renames among them.  After that it reports every
 * change as soon as the change is added, without renames.
 */
#pragma once
#include "query/provider.h"
#include "tree/renames.h"

struct changelist {
	struct view *a, *b;
	size_t hold; /* maximum number of held changes; 0: each is reported when it is added */
	provider_change_visit visit;
	void *arg;
	struct arena arena;
	struct changelist_item {
		struct treediff_change change;
		size_t side; /* for '-' and '+': index of the entry in 'gone' or 'come' */
	} * list;
	size_t n, cap;
	struct renames_list gone, come;
};

void changelist_init(struct changelist *list, struct view *a, struct view *b, size_t hold,
	provider_change_visit visit, void *arg);
void changelist_release(struct changelist *list);
/*
 * Add a change of a path that both views have.  This function, changelist_add_side and
 * changelist_finish return 1 if 'visit' has returned 1 to stop.
 */
int changelist_add(struct changelist *list, const struct treediff_change *change, struct err *err);
/* Add an entry that is gone or new.  *self is set to its index, for changelist_end. */
int changelist_add_side(struct changelist *list, struct str path, const struct entry *entry,
	bool gone, size_t *self, struct err *err);
/*
 * Record that everything below an entry has been added.  Only after this call can a directory
 * become a rename.
 */
void changelist_end(struct changelist *list, size_t self, bool gone);
/* Report all changes. */
int changelist_finish(struct changelist *list, struct err *err);
