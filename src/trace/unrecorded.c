#include "trace/unrecorded.h"

#include <stdlib.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"

void unrecorded_release(struct unrecorded *unrecorded)
{
	free(unrecorded->moves);
	free(unrecorded->lost);
}

static uint64_t device_of(const struct statx *stx)
{
	return makedev(stx->stx_dev_major, stx->stx_dev_minor);
}

static bool is_at_or_below(const struct pathmap_entry *entry, const struct pathmap_entry *top)
{
	while (entry && entry != top)
		entry = entry->parent;
	return entry;
}

/* What entry, which is old or below it, is called when old is called new. */
static struct pathmap_entry *rebase(struct pathmap *map, const struct pathmap_entry *entry,
	const struct pathmap_entry *old, struct pathmap_entry *new)
{
	struct str rest = { entry->path.ptr + old->path.len, entry->path.len - old->path.len };
	struct pathmap_entry *here = new;

	for (struct str name; (name = str_take_name(&rest)).len;)
		here = pathmap_child(map, here, name);
	return here;
}

static void add_move(struct unrecorded *unrecorded, struct unrecorded_move move)
{
	mem_grow(&unrecorded->moves, &unrecorded->cap_moves, unrecorded->n_moves);
	unrecorded->moves[unrecorded->n_moves++] = move;
}

static void add_loss(struct unrecorded *unrecorded, struct unrecorded_loss loss)
{
	mem_grow(&unrecorded->lost, &unrecorded->cap_lost, unrecorded->n_lost);
	unrecorded->lost[unrecorded->n_lost++] = loss;
}

void unrecorded_rename(struct unrecorded *unrecorded, struct pathmap *map,
	struct pathmap_entry *from, const struct statx *stx, struct pathmap_entry *to,
	bool exchange)
{
	size_t n = unrecorded->n_moves;

	for (size_t i = 0; i < n; i++) {
		struct unrecorded_move *move = &unrecorded->moves[i];

		if (is_at_or_below(move->to, from))
			move->to = rebase(map, move->to, from, to);
		else if (exchange && is_at_or_below(move->to, to))
			move->to = rebase(map, move->to, to, from);
		else if (is_at_or_below(from, move->to))
			/* Out of something that has come here without a record. */
			add_move(
				unrecorded, (struct unrecorded_move){
						    .from = rebase(map, from, move->to, move->from),
						    .to = to,
						    .dev = device_of(stx),
						    .ino = stx->stx_ino,
					    });
	}
}

void unrecorded_moves(struct unrecorded *unrecorded, struct pathmap_entry *from,
	struct pathmap_entry *to, const struct statx *stx)
{
	add_move(unrecorded,
		(struct unrecorded_move){
			.from = from, .to = to, .dev = device_of(stx), .ino = stx->stx_ino });
}

void unrecorded_goes(
	struct unrecorded *unrecorded, struct pathmap_entry *entry, const struct statx *stx)
{
	add_loss(unrecorded, (struct unrecorded_loss){
				     .entry = entry, .dev = device_of(stx), .ino = stx->stx_ino });
}

static bool is_there(const struct pathmap_entry *entry, uint64_t dev, uint64_t ino)
{
	struct statx stx;

	return at_abs_stat_strictly(entry->path.ptr, &stx) == 0 && stx.stx_ino == ino &&
	       device_of(&stx) == dev;
}

/* A call may have failed, or another have come after it. */
void unrecorded_finish(struct unrecorded *unrecorded)
{
	size_t kept = 0;

	for (size_t i = 0; i < unrecorded->n_moves; i++) {
		const struct unrecorded_move move = unrecorded->moves[i];

		if (is_there(move.from, move.dev, move.ino))
			continue;
		if (is_there(move.to, move.dev, move.ino))
			unrecorded->moves[kept++] = move;
		else
			add_loss(unrecorded,
				(struct unrecorded_loss){ move.from, move.dev, move.ino });
	}
	unrecorded->n_moves = kept;
	kept = 0;
	for (size_t i = 0; i < unrecorded->n_lost; i++) {
		const struct unrecorded_loss loss = unrecorded->lost[i];

		if (!is_there(loss.entry, loss.dev, loss.ino))
			unrecorded->lost[kept++] = loss;
	}
	unrecorded->n_lost = kept;
}
