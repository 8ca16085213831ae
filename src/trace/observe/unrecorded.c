#include "trace/observe/unrecorded.h"

#include <stdlib.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"

void unrecorded_release(struct unrecorded *unrecorded)
{
	free(unrecorded->moves);
	free(unrecorded->moved);
	free(unrecorded->lost);
}

static uint64_t device_of(const struct statx *stx)
{
	return makedev(stx->stx_dev_major, stx->stx_dev_minor);
}

/*
 * Returns the entry for the path that 'entry' gets when 'old' is renamed to 'new'.  'old' is
 * 'entry' itself or a directory above it.
 */
static struct pathmap_entry *rebase(struct pathmap *map, const struct pathmap_entry *entry,
	const struct pathmap_entry *old, struct pathmap_entry *new)
{
	struct str rest = { entry->path.ptr + old->path.len, entry->path.len - old->path.len };
	struct pathmap_entry *here = new;

	for (struct str name; (name = str_take_name(&rest)).len;)
		here = pathmap_child(map, here, name);
	return here;
}

void unrecorded_add_move(struct unrecorded *unrecorded, struct pathmap_entry *from,
	struct pathmap_entry *to, const struct statx *stx)
{
	mem_grow(&unrecorded->moves, &unrecorded->cap_moves, unrecorded->n_moves);
	unrecorded->moves[unrecorded->n_moves++] =
		(struct unrecorded_move){ from, to, device_of(stx), stx->stx_ino };
}

void unrecorded_add_removal(
	struct unrecorded *unrecorded, struct pathmap_entry *entry, const struct statx *stx)
{
	unrecorded_add_move(unrecorded, entry, NULL, stx);
}

void unrecorded_rename(struct unrecorded *unrecorded, struct pathmap *map,
	struct pathmap_entry *from, const struct statx *stx, struct pathmap_entry *to,
	bool exchange)
{
	size_t n = unrecorded->n_moves;

	for (size_t i = 0; i < n; i++) {
		struct unrecorded_move *move = &unrecorded->moves[i];

		if (!move->to)
			continue;
		if (pathmap_is_below(move->to, from))
			move->to = rebase(map, move->to, from, to);
		else if (exchange && pathmap_is_below(move->to, to))
			move->to = rebase(map, move->to, to, from);
		else if (pathmap_is_below(from, move->to))
			/* An earlier rename moved the thing that contains 'from' to move->to. */
			unrecorded_add_move(
				unrecorded, rebase(map, from, move->to, move->from), to, stx);
	}
}

static bool is_there(const struct pathmap_entry *entry, const struct unrecorded_move *move)
{
	struct statx stx;

	return entry && at_abs_stat_strictly(entry->path.ptr, &stx) == 0 &&
	       stx.stx_ino == move->ino && device_of(&stx) == move->dev;
}

/*
 * Find out where the remembered things are.  Only the final place of a thing counts, since a rename
 * may have failed, or may have been undone later.
 */
void unrecorded_finish(struct unrecorded *unrecorded)
{
	size_t n = unrecorded->n_moves;

	unrecorded->moved = mem_zalloc((n + 1) * sizeof(*unrecorded->moved));
	unrecorded->lost = mem_zalloc((n + 1) * sizeof(*unrecorded->lost));
	for (size_t i = 0; i < n; i++) {
		const struct unrecorded_move *move = &unrecorded->moves[i];

		if (is_there(move->from, move))
			continue;
		if (is_there(move->to, move))
			unrecorded->moved[unrecorded->n_moved++] =
				(struct bundle_moved){ move->from->path, move->to->path,
					move->ino };
		else
			unrecorded->lost[unrecorded->n_lost++] = move->from->path;
	}
}
