#include "workspace/layers.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/diskuse.h"
#include "core/mem.h"
#include "core/own.h"
#include "workspace/layermerge.h"
#include "workspace/layernear.h"
#include "workspace/layerproof.h"
#include "workspace/layertend.h"

#define BASE_DIR "base"
#define CURRENT "current"
#define SKELETON "skeleton"
#define RUN_DIR "run"
#define LOCK_NAME "+layers.lock" /* a workspace cannot have this name, because of the '+' */
#define LOCK_WAIT_MS 10000

static int open_dir(const struct layers *layers, const char *name, struct err *err)
{
	int r = at_mkdirs(layers->rootfd, name, 0700, err);

	return r < 0 ? r : at_open(layers->rootfd, name, O_RDONLY | O_DIRECTORY, err);
}

/* Write the difference between the trees 'from' and 'to' into an empty directory. */
static int write_difference(const struct layers *layers, int dirfd, const char *name,
	enum treeapply_kind kind, const struct hash *from, const struct hash *to, int donor,
	struct err *err)
{
	owned_fd int fd = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, err);

	if (fd < 0)
		return fd;
	struct treeapply_options options = {
		.fd = fd,
		.kind = kind,
		.squashed = layers->squashed,
		.store = layers->store,
		.from = from,
		.to = to,
		.donor = donor,
		.durable = kind == TREEAPPLY_BASE,
		.report = layers->report,
		.progress = layers->progress,
	};
	return treeapply_run(&options, err);
}

/* ---------------------------------------------------------------- the base */

/*
 * Make the skeleton: the mount points that a tree may lack, which are the directories proc, sys and
 * dev, and the file resolv.conf.
 */
static int make_skeleton(int base, struct err *err)
{
	static const char *const dirs[] = { SKELETON, SKELETON "/proc", SKELETON "/sys",
		SKELETON "/dev", SKELETON "/etc" };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		r = at_mkdirs(base, dirs[i], 0755, err);
	if (r < 0)
		return r;
	owned_fd int file = at_create(base, SKELETON "/etc/resolv.conf", O_WRONLY, 0644, err);
	return file < 0 ? file : 0;
}

/* Set *number to the number of the present base, or to 0 if there is none yet. */
static int current_base(int base, unsigned *number, struct err *err)
{
	char text[STACK_TEXT];
	int r = stack_read_text(base, CURRENT, text, err);

	*number = r > 0 ? (unsigned)strtoul(text, NULL, 10) : 0;
	return r;
}

static int fill_base(const struct layers *layers, int base, const char *name,
	const struct hash *tree, int donor, struct err *err)
{
	int r = at_remove_tree(base, name, err); /* remove files that a killed init has left */

	if (r >= 0)
		r = at_mkdirs(base, name, 0700, err);
	return r < 0 ? r
		     : write_difference(layers, base, name, TREEAPPLY_BASE, NULL, tree, donor, err);
}

/*
 * Make the base with this name a symbolic link to a path.  A relative path starts at the
 * environment's directory.  In the link, "../" is put in front of a relative path, since the link
 * is one directory deeper.
 */
static int link_place(int base, const char *name, const char *place, struct err *err)
{
	owned_mem char *from_here = *place == '/' ? mem_strdup(place) : mem_printf("../%s", place);

	return stack_write_text(base, name, from_here, true, err);
}

/* Measure the size of a base and record it.  The size never changes, since a base never changes. */
static int measure_base(int base, const char *name, struct err *err)
{
	char size_name[48], text[STACK_TEXT];
	struct diskuse use = { 0 };

	diskuse_add(base, name, &use);
	snprintf(size_name, sizeof(size_name), "%s.size", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)use.bytes);
	return stack_write_text(base, size_name, text, false, err);
}

int layers_make_base(const struct layers *layers, const struct hash *tree, const char *place,
	int donor, struct err *err)
{
	owned_fd int base = open_dir(layers, BASE_DIR, err);
	char name[32], tree_name[48], text[STACK_TREE];
	unsigned number;
	int r = base < 0 ? base : current_base(base, &number, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%u", number + 1);
	snprintf(tree_name, sizeof(tree_name), "%s.tree", name);
	r = place ? link_place(base, name, place, err)
		  : fill_base(layers, base, name, tree, donor, err);
	if (r >= 0)
		r = make_skeleton(base, err);
	if (r >= 0)
		r = stack_write_text(base, tree_name, stack_tree_text(tree, text), true, err);
	if (r >= 0)
		r = measure_base(base, name, err);
	return r < 0 ? r : stack_write_text(base, CURRENT, name, true, err);
}

static int add_base(void *arg, int dirfd, const char *name, struct err *err)
{
	char size_name[NAME_MAX + 1], text[STACK_TEXT];
	struct diskuse use = { 0 };
	uint64_t *sum = arg;

	if (strspn(name, "0123456789") != strlen(name))
		return 0;
	snprintf(size_name, sizeof(size_name), "%.200s.size", name);
	int r = stack_read_text(dirfd, size_name, text, err);
	if (r == 0)
		diskuse_add(dirfd, name, &use);
	*sum += r > 0 ? strtoull(text, NULL, 10) : use.bytes;
	return r < 0 ? r : 0;
}

uint64_t layers_base_bytes(int rootfd)
{
	struct err ignored = { 0 };
	uint64_t sum = 0;

	if (at_exists(rootfd, BASE_DIR))
		(void)at_each_name(rootfd, BASE_DIR, add_base, &sum, &ignored);
	return sum;
}

int layers_base_tree(
	const struct layers *layers, unsigned number, struct hash *tree, struct err *err)
{
	owned_fd int base = at_open(layers->rootfd, BASE_DIR, O_RDONLY | O_DIRECTORY, err);
	char name[48], text[STACK_TEXT];

	if (base < 0)
		return base;
	snprintf(name, sizeof(name), "%u.tree", number);
	int r = stack_read_text(base, name, text, err);
	if (r == 0 || (r > 0 && !stack_tree_parse(text, tree)))
		r = err_set(err, ERR_CORRUPT, "base %u is not known", number);
	return r;
}

/* --------------------------------------------------------------- the layers */

int layers_lock(int rootfd, enum lock_mode mode, struct err *err)
{
	owned_fd int run = at_open(rootfd, RUN_DIR, O_RDONLY | O_DIRECTORY, err);

	if (run < 0)
		return run;
	int fd = lock_take(run, LOCK_NAME, mode, LOCK_WAIT_MS, "the layers", err);
	return fd < 0 ? err_context(err, "the layers") : fd;
}

/*
 * Find a chain of whole layers that shows the given tree, and record that its top layer was used
 * just now.  Returns 1, or 0 if no such chain exists.
 */
static int find_whole(
	int dirfd, const struct hash *tree, struct layerlinks_chain *chain, struct err *err)
{
	char name[LAYERLINKS_NAME];
	unsigned number;
	int r = layerlinks_find(dirfd, tree, &number, err);

	if (r > 0)
		r = layerlinks_chain(dirfd, number, 0, chain, err);
	if (r <= 0 || !layerlinks_chain_whole(dirfd, chain))
		return r < 0 ? r : 0;
	(void)utimensat(dirfd, layerlinks_name(name, number, ".ok"), NULL, AT_SYMLINK_NOFOLLOW);
	return 1;
}

bool layers_has(const struct layers *layers, const struct hash *tree)
{
	struct err ignored = { 0 };
	struct layerlinks_chain chain;
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, &ignored);

	return dirfd >= 0 && find_whole(dirfd, tree, &chain, &ignored) > 0;
}

int layers_reserve(const struct layers *layers, const struct stack *stack, const struct hash *tree,
	unsigned *number, struct err *err)
{
	struct layerlinks_on on = { .below = stack->top, .base = stack->base, .tree = *tree };
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);
	int r = dirfd < 0 ? dirfd : layerlinks_reserve(dirfd, &on, number, err);

	if (r >= 0 && layers->untidy)
		*layers->untidy |= *number % LAYERTEND_EACH == 0;
	return r;
}

/*
 * Mark a new layer.  Checkouts of the layer's tree will use the layer, unless it is inexact, that
 * is, does not show all of the tree.  Instead of using an inexact layer, the next checkout of the
 * tree makes a layer again, and reports again which files could not be restored.
 */
static int mark_new(int dirfd, unsigned number, bool inexact, struct err *err)
{
	struct layerlinks_ok ok = { .inexact = inexact }, below = { 0 };
	struct layerlinks_on on;
	int r = layerlinks_read_on(dirfd, number, &on, err);

	if (r == 0)
		r = err_set(err, ERR_NOT_FOUND, "layer %u was removed", number);
	if (r > 0 && on.below)
		r = layerlinks_read_ok(dirfd, on.below, &below, err);
	ok.inexact |= below.inexact;
	if (r >= 0)
		r = layerlinks_mark(dirfd, number, &ok, err);
	return r < 0 || ok.inexact ? r : layerlinks_prefer(dirfd, &on.tree, number, err);
}

static uint64_t unrestored(const struct report *report)
{
	return report ? report->count[REPORT_UNRESTORED] + report->count[REPORT_LOGICAL] +
				report->count[REPORT_DAMAGED]
		      : 0;
}

int layers_complete(const struct layers *layers, unsigned number, struct err *err)
{
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);

	return dirfd < 0 ? dirfd : mark_new(dirfd, number, false, err);
}

/*
 * Make a layer on top of a stack.  The new layer shows the given tree, and becomes the top of the
 * stack.
 */
static int make_layer(const struct layers *layers, int dirfd, const struct hash *tree,
	struct stack *stack, struct err *err)
{
	char name[LAYERLINKS_NAME];
	uint64_t before = unrestored(layers->report);
	unsigned number;
	int r = layers_reserve(layers, stack, tree, &number, err);

	if (r < 0)
		return r;
	r = at_mkdirs(dirfd, layerlinks_name(name, number, ""), 0700, err);
	if (r >= 0)
		r = write_difference(layers, dirfd, name, TREEAPPLY_LAYER, &stack->tree, tree,
			layers->donor, err);
	if (r >= 0)
		r = mark_new(dirfd, number, unrestored(layers->report) != before, err);
	if (r < 0) {
		layerlinks_give_up(dirfd, number);
		return err_context(err, "make a layer");
	}
	stack->top = number;
	stack->tree = *tree;
	return 0;
}

/*
 * Make room on a stack for one more layer.  If the chain would be too long to be mounted, its upper
 * half is merged.  If the merge fails, *stack is set to the base.  A layer on the base costs more,
 * but always fits.
 */
static void make_room(int dirfd, struct stack *stack, const struct stack *base)
{
	struct layerlinks_chain chain;
	struct err ignored = { 0 };
	int r = layerlinks_chain(dirfd, stack->top, stack->base, &chain, &ignored);

	if (r > 0 && chain.n == LAYERLINKS_DEPTH_MAX)
		r = layermerge_top(
			    dirfd, &chain, LAYERLINKS_DEPTH_MAX / 2, &stack->top, &ignored) >= 0;
	if (r <= 0)
		*stack = *base;
}

int layers_find_or_make(const struct layers *layers, const struct hash *tree,
	const struct stack *here, struct stack *stack, struct err *err)
{
	owned_fd int base = at_open(layers->rootfd, BASE_DIR, O_RDONLY | O_DIRECTORY, err);
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);
	struct stack start = { 0 };
	struct layerlinks_chain chain;
	int r = base < 0 ? base : dirfd < 0 ? dirfd : current_base(base, &start.base, err);

	if (r == 0)
		r = err_set(err, ERR_CORRUPT, "the workspaces have no base");
	if (r >= 0)
		r = layers_base_tree(layers, start.base, &start.tree, err);
	if (r >= 0 && !hash_eq(&start.tree, tree))
		r = find_whole(dirfd, tree, &chain, err);
	else if (r >= 0)
		chain = (struct layerlinks_chain){ .base = start.base };
	if (r > 0) {
		start.base = chain.base;
		start.top = chain.n ? chain.layer[0].number : 0;
		start.tree = *tree;
	} else if (r == 0) {
		const struct stack bottom = start;

		r = layernear_find(layers, dirfd, tree, here, &start, err);
		if (r >= 0) {
			make_room(dirfd, &start, &bottom);
			r = make_layer(layers, dirfd, tree, &start, err);
		}
	}
	if (r < 0)
		return r;
	stack->base = start.base;
	stack->top = start.top;
	stack->tree = *tree;
	return 0;
}

/*
 * Check that every layer of the chain shows its tree.  A layer without a mark of this boot is
 * proved now.  Returns 1, or 0 if a layer does not show its tree.
 */
static int prove_chain(const struct layers *layers, int dirfd, const struct stack *stack,
	struct layerlinks_chain *chain, struct err *err)
{
	int r = layerlinks_chain(dirfd, stack->top, stack->base, chain, err);

	/*
	 * The layer that the stack was written for may be gone, and its number may belong to a
	 * layer of another tree now.
	 */
	if (r > 0 && chain->n && !hash_eq(&chain->layer[0].tree, &stack->tree))
		r = 0;
	if (r <= 0 || layerlinks_chain_whole(dirfd, chain))
		return r;
	struct hash below;
	r = layers_base_tree(layers, chain->base, &below, err);
	for (size_t i = chain->n; r >= 0 && i--;) {
		r = layerproof_one(
			layers, dirfd, chain->layer[i].number, &below, &chain->layer[i].tree, err);
		if (r <= 0)
			return r;
		below = chain->layer[i].tree;
	}
	return r < 0 ? r : 1;
}

int layers_check(const struct layers *layers, struct stack *stack, struct err *err)
{
	struct layerlinks_chain chain;
	unsigned top = stack->top;
	struct hash base;
	int r = layers_base_tree(layers, stack->base, &base, err);

	if (r < 0 || (!top && hash_eq(&base, &stack->tree)))
		return r < 0 ? r : 0;
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);
	if (dirfd < 0)
		return dirfd;
	r = top == STACK_TOP_UNKNOWN || !top ? 0 : prove_chain(layers, dirfd, stack, &chain, err);
	if (r == 0)
		r = layers_find_or_make(layers, &stack->tree, NULL, stack, err);
	return r < 0 ? r : stack->top != top;
}

int layers_shorten(const struct layers *layers, struct stack *stack, struct err *err)
{
	struct layerlinks_chain chain, other;
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);
	int r = dirfd < 0 ? dirfd : layerlinks_chain(dirfd, stack->top, stack->base, &chain, err);

	if (r <= 0 || !chain.n)
		return r < 0 ? r : 0;
	r = find_whole(dirfd, &stack->tree, &other, err);
	if (r <= 0 || other.base != chain.base || other.n >= chain.n)
		return r < 0 ? r : 0;
	stack->top = other.layer[0].number;
	return 1;
}

size_t layers_depth(const struct layers *layers, const struct stack *stack)
{
	struct layerlinks_chain chain;
	struct err ignored = { 0 };
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, &ignored);

	return dirfd >= 0 && layerlinks_chain(dirfd, stack->top, stack->base, &chain, &ignored) > 0
		       ? chain.n
		       : LAYERLINKS_DEPTH_MAX;
}

int layers_lower(const struct layers *layers, const struct stack *stack,
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX], struct err *err)
{
	struct layerlinks_chain chain;
	int n = 0;
	owned_fd int dirfd = open_dir(layers, LAYERLINKS_DIR, err);
	int r = dirfd < 0 ? dirfd : layerlinks_chain(dirfd, stack->top, stack->base, &chain, err);

	if (r == 0)
		r = err_set(err, ERR_CORRUPT, "a layer below layer %u is missing", stack->top);
	if (r < 0)
		return r;
	for (size_t i = 0; i < chain.n; i++)
		snprintf(lower[n++], LAYERS_PATH_MAX, LAYERLINKS_DIR "/%u", chain.layer[i].number);
	snprintf(lower[n++], LAYERS_PATH_MAX, BASE_DIR "/%u", chain.base);
	snprintf(lower[n++], LAYERS_PATH_MAX, BASE_DIR "/" SKELETON);
	return n;
}
