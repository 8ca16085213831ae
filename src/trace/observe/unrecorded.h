/*
 * unrecorded - files and directories that have no record, and that the command has moved or
 * removed.  Such a file or directory is called a "thing" here.
 *
 * The bundle has no records of files in .git and of files that the ignore file lists, so the only
 * copy of their contents is in the file system.  When the command has renamed such a thing, alone
 * or with a directory that contains it, a restore has to rename it back.  If the restore removed
 * the new directory and made the old one anew, the thing would be lost.  When the command has
 * removed such a thing, a restore has to report that it is lost.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trace/bundle/bundle.h"
#include "trace/observe/pathmap.h"

/*
 * A thing that was at 'from' before the command, and is expected to be at 'to' now.  If 'to' is
 * NULL, the command has removed the thing.
 */
struct unrecorded_move {
	struct pathmap_entry *from, *to;
	uint64_t dev, ino;
};

struct unrecorded {
	struct unrecorded_move *moves; /* the remembered moves and removals */
	size_t n_moves, cap_moves;
	/*
	 * Results of unrecorded_finish: the things that are now in another place, and the things
	 * that are lost.
	 */
	struct bundle_moved *moved;
	size_t n_moved;
	struct str *lost;
	size_t n_lost;
};

void unrecorded_release(struct unrecorded *unrecorded);
/*
 * Remember that a call is about to rename 'from', which has the state stx, to 'to'.  If 'exchange'
 * is set, 'to' is also renamed to 'from'.  Things that an earlier rename has put below 'from' are
 * moved with it.  This function must be called before unrecorded_add_move.
 */
void unrecorded_rename(struct unrecorded *unrecorded, struct pathmap *map,
	struct pathmap_entry *from, const struct statx *stx, struct pathmap_entry *to,
	bool exchange);
/* Remember that a thing, which has the state stx, is about to be renamed. */
void unrecorded_add_move(struct unrecorded *unrecorded, struct pathmap_entry *from,
	struct pathmap_entry *to, const struct statx *stx);
/* Remember that a thing, which has the state stx, is about to be removed. */
void unrecorded_add_removal(
	struct unrecorded *unrecorded, struct pathmap_entry *entry, const struct statx *stx);
/* Find out where the remembered things are.  To be called when the command has ended. */
void unrecorded_finish(struct unrecorded *unrecorded);
