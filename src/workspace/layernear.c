#include "workspace/layernear.h"

#include <stdint.h>

#include "tree/treediff.h"

/* cost of an entry (name, inode, block) as a number of written bytes */
#define ENTRY_COST 4096
/*
 * Cost of one more layer in a chain, as a number of written bytes.  It stands for slower look-ups.
 */
#define DEPTH_COST (8 * ENTRY_COST)
/* maximum number of layers of similar trees (layers->near) that are compared */
#define NEAR_MAX 4

struct candidate {
	struct stack stack;
	size_t depth;
};

struct search {
	const struct layers *layers;
	int dirfd;
	const struct hash *tree;
	struct candidate best;
	uint64_t cost; /* cost of the best candidate */
};

struct measure {
	uint64_t cost, limit;
};

static int add_change(void *arg, const struct treediff_change *change, struct err *err)
{
	struct measure *measure = arg;
	bool writes = change->b && change->b->type == ENTRY_FILE &&
		      (!change->a || change->what & (TREEDIFF_CONTENT | TREEDIFF_TYPE));

	measure->cost += ENTRY_COST + (writes ? change->b->size : 0);
	return measure->cost < measure->limit ? 0
					      : err_set(err, ERR_LIMIT, "another layer is nearer");
}

/*
 * Compare a candidate with the wanted tree.  The candidate becomes the best one if it costs less
 * than the best one so far.
 */
static void consider(struct search *search, const struct candidate *candidate)
{
	struct measure measure = { .cost = candidate->depth * DEPTH_COST, .limit = search->cost };
	struct treediff_options options = { .renames = false };
	struct err ignored = { 0 };

	if (measure.cost >= measure.limit)
		return;
	/*
	 * The comparison fails if it reaches the limit, or if the store lacks a part of the
	 * candidate's tree.
	 */
	if (treediff_run(search->layers->store, &candidate->stack.tree, search->tree, &options,
		    add_change, &measure, NULL, &ignored) < 0)
		return;
	search->best = *candidate;
	search->cost = measure.cost;
}

static void consider_layer(struct search *search, const struct layerlinks_chain *chain, size_t i)
{
	consider(search, &(struct candidate){
				 .stack = { .base = chain->base,
					 .top = chain->layer[i].number,
					 .tree = chain->layer[i].tree },
				 .depth = chain->n - i,
			 });
}

/*
 * Consider the layers 0, 1, 3, 7, 15 and so on of the overlay's present chain.  Layer 0 is the
 * topmost.
 */
static int consider_here(struct search *search, const struct stack *here, struct err *err)
{
	struct layerlinks_chain chain;
	int r = here->top == STACK_TOP_UNKNOWN
			? 0
			: layerlinks_chain(search->dirfd, here->top, here->base, &chain, err);

	for (size_t i = 0; r > 0 && i < chain.n; i = 2 * i + 1)
		consider_layer(search, &chain, i);
	return r < 0 ? r : 0;
}

static int consider_near(struct search *search, struct err *err)
{
	const struct layers *layers = search->layers;
	struct layerlinks_chain chain;
	unsigned number;
	size_t found = 0;

	for (size_t i = 0; i < layers->n_near && found < NEAR_MAX; i++) {
		int r = layerlinks_find(search->dirfd, &layers->near[i], &number, err);

		if (r > 0)
			r = layerlinks_chain(search->dirfd, number, 0, &chain, err);
		if (r < 0)
			return r;
		if (r == 0 || !layerlinks_chain_whole(search->dirfd, &chain))
			continue;
		consider_layer(search, &chain, 0);
		found++;
	}
	return 0;
}

int layernear_find(const struct layers *layers, int dirfd, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err)
{
	struct search search = {
		.layers = layers,
		.dirfd = dirfd,
		.tree = tree,
		.best.stack = *stack,
		.cost = UINT64_MAX,
	};
	/* Begin with the likely candidates, because a low cost ends the later comparisons early. */
	int r = consider_near(&search, err);

	if (r >= 0 && here)
		r = consider_here(&search, here, err);
	if (r < 0)
		return r;
	consider(&search, &(struct candidate){ .stack = *stack });
	*stack = search.best.stack;
	return 0;
}
