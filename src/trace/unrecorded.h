/*
 * unrecorded - where things went that no record tells of.
 *
 * What is in .git and what the ignore file names has no records, so its contents are nowhere but in
 * place.  When the command renames it, alone or with a directory around it, a restore has to rename
 * it back: to make the old directory anew and to remove the other would destroy it.  When the
 * command removes it, a restore has to know that nothing can bring it back.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trace/pathmap.h"

/* It was at from before the command, and is at to after it. */
struct unrecorded_move {
	struct pathmap_entry *from, *to;
	uint64_t dev, ino;
};

/* It was there before the command, and is nowhere that is known. */
struct unrecorded_loss {
	struct pathmap_entry *entry;
	uint64_t dev, ino;
};

struct unrecorded {
	struct unrecorded_move *moves;
	size_t n_moves, cap_moves;
	struct unrecorded_loss *lost;
	size_t n_lost, cap_lost;
};

void unrecorded_release(struct unrecorded *unrecorded);
/*
 * Something is about to be renamed, from which is stx; exchange: and the other way round.  What was
 * renamed before goes along.  Comes before unrecorded_moves of the same call.
 */
void unrecorded_rename(struct unrecorded *unrecorded, struct pathmap *map,
	struct pathmap_entry *from, const struct statx *stx, struct pathmap_entry *to,
	bool exchange);
/* A thing without a record, which is stx, is about to get another name. */
void unrecorded_moves(struct unrecorded *unrecorded, struct pathmap_entry *from,
	struct pathmap_entry *to, const struct statx *stx);
/* It is about to be removed. */
void unrecorded_goes(
	struct unrecorded *unrecorded, struct pathmap_entry *entry, const struct statx *stx);
/* The program has ended: see what of it is so. */
void unrecorded_finish(struct unrecorded *unrecorded);
