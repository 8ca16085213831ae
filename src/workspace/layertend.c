#include "workspace/layertend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/at.h"
#include "core/diskuse.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/removal.h"
#include "workspace/layermerge.h"
#include "workspace/layers.h"
#include "workspace/workspace.h"

/* divisor: layers may take 1/10 of the disk space that is free or taken by layers */
#define LIMIT_SHARE 10
#define LIMIT_LEAST ((uint64_t)64 << 20)
/* divisor: 1/8 of the limit is kept free for layers that are made before the next run */
#define STEP_SHARE 8
#define STEP_MOST ((uint64_t)256 << 10)
#define TEND_LOCK "+tend.lock"
/* This file exists if a run was requested and no process has begun the run. */
#define TEND_ASKED "+tend.asked"
#define TEND_WAIT_MS 60000
/* a layer is not merged if it is this many times larger than all layers above it together */
#define MERGE_RATIO 2

struct layer {
	unsigned number;
	struct layerlinks_on on;
	struct layerlinks_ok ok;
	bool known, marked; /* whether the links N.on and N.ok could be read */
	/*
	 * the layer has no directory; when an interrupted freeze is completed, the layer gets one
	 */
	bool absent;
	bool preferred; /* checkouts of the layer's tree take this layer */
	bool used;      /* an overlay uses the layer */
	bool gone;      /* the layer was dropped in this run */
	unsigned above; /* number of layers that lie directly on this layer */
	int64_t time;   /* time of the last use */
};

/* The state of all layers, and of the stacks of all workspaces, at the start of a run. */
struct picture {
	int rootfd, dirfd;
	struct layer *layers; /* sorted by number */
	size_t n, cap;
	struct stack *stacks;
	size_t n_stacks, cap_stacks;
};

static void picture_release(struct picture *picture)
{
	close_fd(&picture->dirfd);
	free(picture->layers);
	free(picture->stacks);
}

/* ---------------------------------------------------------------- measuring */

static void measure(int dirfd, struct layer *layer)
{
	char name[LAYERLINKS_NAME];
	struct diskuse use = { 0 };

	diskuse_add(dirfd, layerlinks_name(name, layer->number, ""), &use);
	layer->ok.measured = true;
	layer->ok.entries = use.entries;
	layer->ok.bytes = use.bytes;
}

static int measure_new(struct picture *picture, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < picture->n; i++) {
		struct layer *layer = &picture->layers[i];

		if (!layer->marked || !layer->ok.whole || layer->ok.measured)
			continue;
		measure(picture->dirfd, layer);
		r = layerlinks_mark(picture->dirfd, layer->number, &layer->ok, err);
	}
	return r;
}

/* ---------------------------------------------------------- taking a picture */

/*
 * Whether a file name counts as a layer: the name of a layer's directory or, if the layer has no
 * directory, the name of its link N.on.
 */
static bool is_of_layer(int dirfd, const char *name, struct layer *layer)
{
	char link[LAYERLINKS_NAME], directory[LAYERLINKS_NAME];

	if (layerlinks_is_layer(name, &layer->number))
		return true;
	layer->number = (unsigned)strtoul(name, NULL, 10);
	layer->absent = true;
	return layer->number && !strcmp(name, layerlinks_name(link, layer->number, ".on")) &&
	       !at_exists(dirfd, layerlinks_name(directory, layer->number, ""));
}

static int note_layer(void *arg, int dirfd, const char *name, struct err *err)
{
	struct picture *picture = arg;
	struct layer layer = { 0 };
	char mark[LAYERLINKS_NAME];
	struct statx stx;
	unsigned number = 0;

	if (!is_of_layer(dirfd, name, &layer))
		return 0;
	int r = layerlinks_read_on(dirfd, layer.number, &layer.on, err);
	layer.known = r > 0;
	if (r > 0)
		r = layerlinks_find(dirfd, &layer.on.tree, &number, err);
	layer.preferred = r > 0 && number == layer.number;
	if (r >= 0)
		r = layerlinks_read_ok(dirfd, layer.number, &layer.ok, err);
	layer.marked = r > 0;
	if (r > 0 && at_name_stat(dirfd, layerlinks_name(mark, layer.number, ".ok"), &stx) == 0)
		layer.time = stx.stx_mtime.tv_sec * 1000000000 + stx.stx_mtime.tv_nsec;
	if (r < 0)
		return r;
	mem_grow(&picture->layers, &picture->cap, picture->n);
	picture->layers[picture->n++] = layer;
	return 0;
}

/* Add the stack that a workspace may still have mounted, so that its layers count as used. */
static void note_mounted(struct picture *picture, int workspace, const struct stack *stack)
{
	struct err ignored = { 0 };
	struct stack mounted = *stack;
	char text[STACK_TEXT];

	if (stack_read_text(workspace, LAYERS_MOUNTED, text, &ignored) <= 0)
		return;
	mounted.top = (unsigned)strtoul(text, NULL, 10);
	mem_grow(&picture->stacks, &picture->cap_stacks, picture->n_stacks);
	picture->stacks[picture->n_stacks++] = mounted;
}

static int note_stack(void *arg, int dirfd, const char *name, struct err *err)
{
	struct picture *picture = arg;
	struct err ignored = { 0 };
	struct stack stack;
	owned_fd int fd = at_open(dirfd, name, O_RDONLY | O_DIRECTORY, &ignored);
	int r = fd < 0 ? 0 : stack_read(fd, LAYERS_STACK, &stack, err);

	if (r <= 0 || stack.top == STACK_TOP_UNKNOWN)
		return r < 0 ? r : 0;
	mem_grow(&picture->stacks, &picture->cap_stacks, picture->n_stacks);
	picture->stacks[picture->n_stacks++] = stack;
	note_mounted(picture, fd, &stack);
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct layer *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static struct layer *find_layer(struct picture *picture, unsigned number)
{
	struct layer key = { .number = number };

	return number && picture->n
		       ? bsearch(&key, picture->layers, picture->n, sizeof(key), compare_numbers)
		       : NULL;
}

static void set_used(struct picture *picture, unsigned number)
{
	struct layer *layer = find_layer(picture, number);

	for (; layer && !layer->used; layer = find_layer(picture, layer->on.below))
		layer->used = true;
}

static void count_uses(struct picture *picture)
{
	for (size_t i = 0; i < picture->n; i++) {
		struct layer *below = find_layer(picture, picture->layers[i].on.below);

		if (below)
			below->above++;
	}
	for (size_t i = 0; i < picture->n_stacks; i++) {
		struct err ignored = { 0 };
		unsigned merged = 0;

		set_used(picture, picture->stacks[i].top);
		/*
		 * If the chain has been merged, the workspace will use the merged layer instead of
		 * the top layer at its next mount.
		 */
		if (layerlinks_find(picture->dirfd, &picture->stacks[i].tree, &merged, &ignored) >
			0)
			set_used(picture, merged);
	}
}

static int take_picture(int rootfd, struct picture *picture, struct err *err)
{
	*picture = (struct picture){ .rootfd = rootfd, .dirfd = -1 };
	if (!at_exists(rootfd, LAYERLINKS_DIR))
		return 0;
	int r = picture->dirfd = at_open(rootfd, LAYERLINKS_DIR, O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = at_each_name(rootfd, LAYERLINKS_DIR, note_layer, picture, err);
	if (r >= 0)
		r = at_each_name(rootfd, WORKSPACE_LIVE_DIR, note_stack, picture, err);
	if (r < 0)
		return r;
	if (picture->n)
		qsort(picture->layers, picture->n, sizeof(*picture->layers), compare_numbers);
	count_uses(picture);
	return 0;
}

/* -------------------------------------------------------------------- limit */

int layertend_set_limit(int rootfd, uint64_t bytes, struct err *err)
{
	char text[STACK_TEXT];
	int r = at_mkdirs(rootfd, LAYERLINKS_DIR, 0700, err);
	owned_fd int dirfd =
		r < 0 ? r : at_open(rootfd, LAYERLINKS_DIR, O_RDONLY | O_DIRECTORY, err);

	if (dirfd < 0)
		return dirfd;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	if (bytes)
		return stack_write_text(dirfd, LAYERLINKS_LIMIT, text, true, err);
	if (unlinkat(dirfd, LAYERLINKS_LIMIT, 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove the limit of the layers");
	return 0;
}

static uint64_t read_limit(int dirfd, uint64_t taken)
{
	char text[STACK_TEXT];
	struct err ignored = { 0 };
	struct statvfs fs;

	if (stack_read_text(dirfd, LAYERLINKS_LIMIT, text, &ignored) > 0)
		return strtoull(text, NULL, 10);
	if (fstatvfs(dirfd, &fs) < 0)
		return LIMIT_LEAST;
	uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize + taken;
	uint64_t least = room / 2 < LIMIT_LEAST ? room / 2 : LIMIT_LEAST;
	return room / LIMIT_SHARE > least ? room / LIMIT_SHARE : least;
}

static uint64_t step_of(uint64_t limit)
{
	uint64_t step = limit / STEP_SHARE / LAYERTEND_EACH;

	return step < STEP_MOST ? step : STEP_MOST;
}

uint64_t layertend_step(int rootfd)
{
	struct err ignored = { 0 };
	owned_fd int dirfd = at_open(rootfd, LAYERLINKS_DIR, O_RDONLY | O_DIRECTORY, &ignored);

	return dirfd < 0 ? 0 : step_of(read_limit(dirfd, 0));
}

static void sum_sizes(const struct picture *picture, struct layertend_usage *usage)
{
	usage->taken = 0;
	for (size_t i = 0; i < picture->n; i++)
		if (!picture->layers[i].gone)
			usage->taken += picture->layers[i].ok.bytes;
	usage->limit = read_limit(picture->dirfd, usage->taken);
}

/* ------------------------------------------------------------------ merging */

/*
 * Returns how many of the topmost layers of a chain should be merged.  These are at least as many
 * layers as necessary to make the chain short enough.  The next deeper layer is merged, too, as
 * long as it is not much larger than all layers above it together.  So each layer takes part in few
 * merges, however long the history is.
 */
static size_t merge_count(struct picture *picture, const struct layerlinks_chain *chain)
{
	uint64_t sum = 0;
	size_t count = 0;

	for (; count < chain->n; count++) {
		const struct layer *layer = find_layer(picture, chain->layer[count].number);
		uint64_t entries = layer ? layer->ok.entries : 0;
		bool short_enough = chain->n - count + 1 <= LAYERTEND_DEPTH / 2 + 1;

		if (short_enough && count > 1 && entries > MERGE_RATIO * sum)
			break;
		sum += entries;
	}
	return count;
}

/*
 * Merge the chains that are too long.  A chain that cannot be merged stays as it is.  A merge fails
 * if a file would have too many links, or if directories are nested too deeply.
 */
static void merge_long_chains(struct picture *picture)
{
	struct layerlinks_chain chain;
	struct err ignored = { 0 };
	unsigned number;

	for (size_t i = 0; i < picture->n_stacks; i++) {
		const struct stack *stack = &picture->stacks[i];
		struct layer *top = find_layer(picture, stack->top);

		/*
		 * Skip a chain that an earlier run has merged: checkouts no longer use its top
		 * layer, and the workspace will use the merged layer at its next mount.
		 */
		if (!top || !top->preferred ||
			layerlinks_chain(
				picture->dirfd, stack->top, stack->base, &chain, &ignored) <= 0 ||
			chain.n <= LAYERTEND_DEPTH ||
			!layerlinks_chain_whole(picture->dirfd, &chain))
			continue;
		(void)layermerge_top(
			picture->dirfd, &chain, merge_count(picture, &chain), &number, &ignored);
		top->preferred = false;
	}
}

/* ----------------------------------------------------------------- dropping */

/*
 * Drop a layer.  Its mark is removed first, so that a partly removed layer never counts as whole.
 */
static int drop_layer(struct picture *picture, struct layer *layer, struct err *err)
{
	char name[LAYERLINKS_NAME], gone[LAYERLINKS_NAME + sizeof(REMOVAL_GONE)], tree[STACK_TREE];
	int r = layerlinks_unmark(picture->dirfd, layer->number, err);

	if (r < 0)
		return r;
	layerlinks_name(name, layer->number, "");
	snprintf(gone, sizeof(gone), REMOVAL_GONE "%s", name);
	if (layer->preferred)
		(void)unlinkat(picture->dirfd, stack_tree_text(&layer->on.tree, tree), 0);
	r = layer->absent ? 0 : at_rename(picture->dirfd, name, gone, err);
	if (r < 0)
		return r;
	(void)unlinkat(picture->dirfd, layerlinks_name(name, layer->number, ".on"), 0);
	struct layer *below = find_layer(picture, layer->on.below);
	if (below)
		below->above--;
	layer->gone = true;
	return 0;
}

static bool is_useless(const struct layertend_options *options, const struct layer *layer)
{
	return !layer->known || !layer->marked || !layer->ok.whole || !layer->preferred ||
	       (options->useful && !options->useful(options->arg, &layer->on.tree));
}

/*
 * Drop the layers that are not useful.  A layer cannot be dropped while another layer lies on it,
 * so the topmost layers are dropped first.
 */
static int drop_useless(
	struct picture *picture, const struct layertend_options *options, struct err *err)
{
	bool again = true;
	int r = 0;

	while (again && r >= 0) {
		again = false;
		for (size_t i = picture->n; r >= 0 && i--;) {
			struct layer *layer = &picture->layers[i];

			if (layer->gone || layer->used || layer->above ||
				!is_useless(options, layer))
				continue;
			r = drop_layer(picture, layer, err);
			again = true;
		}
	}
	return r;
}

static struct layer *find_oldest(struct picture *picture)
{
	struct layer *oldest = NULL;

	for (size_t i = 0; i < picture->n; i++) {
		struct layer *layer = &picture->layers[i];

		if (!layer->gone && !layer->used && !layer->above &&
			(!oldest || layer->time < oldest->time))
			oldest = layer;
	}
	return oldest;
}

static int drop_oldest(struct picture *picture, struct err *err)
{
	struct layertend_usage usage;
	struct layer *oldest;
	int r = 0;

	sum_sizes(picture, &usage);
	uint64_t most = usage.limit - step_of(usage.limit) * LAYERTEND_EACH;
	while (r >= 0 && usage.taken > most && (oldest = find_oldest(picture))) {
		r = drop_layer(picture, oldest, err);
		usage.taken -= oldest->ok.bytes;
	}
	return r;
}

/*
 * Remove links without a layer.  Also remove files that a killed process or an older version of
 * strata has left.
 */
static int remove_stray(void *arg, int dirfd, const char *name, struct err *err)
{
	struct picture *picture = arg;
	struct hash tree;
	unsigned number;
	char again[LAYERLINKS_NAME];

	if (!strcmp(name, LAYERLINKS_LIMIT) || !strcmp(name, LAYERLINKS_NEXT) ||
		layerlinks_is_layer(name, &number) ||
		!strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE)))
		return 0;
	number = (unsigned)strtoul(name, NULL, 10);
	bool of_layer = number && find_layer(picture, number) &&
			(!strcmp(name, layerlinks_name(again, number, ".on")) ||
				!strcmp(name, layerlinks_name(again, number, ".ok")));
	bool of_tree = stack_tree_parse(name, &tree) &&
		       layerlinks_find(dirfd, &tree, &number, err) > 0 &&
		       find_layer(picture, number);
	return of_layer || of_tree ? 0 : at_remove_tree(dirfd, name, err);
}

static int take_out_of_use(int rootfd, const struct layertend_options *options, struct err *err)
{
	owned(picture_release) struct picture picture = { .dirfd = -1 };
	owned_fd int lock = layers_lock(rootfd, LOCK_EXCLUSIVE, err);
	int r = lock < 0 ? lock : take_picture(rootfd, &picture, err);

	if (r >= 0)
		r = at_each_name(rootfd, LAYERLINKS_DIR, remove_stray, &picture, err);
	if (r >= 0)
		r = drop_useless(&picture, options, err);
	return r < 0 ? r : drop_oldest(&picture, err);
}

static int remove_gone(void *arg, int dirfd, const char *name, struct err *err)
{
	return strncmp(name, REMOVAL_GONE, strlen(REMOVAL_GONE)) ? 0
								 : at_remove_tree(dirfd, name, err);
}

/* ---------------------------------------------------------------------- all */

static int measure_and_merge(int rootfd, struct err *err)
{
	owned(picture_release) struct picture picture = { .dirfd = -1 };
	owned_fd int lock = layers_lock(rootfd, LOCK_SHARED, err);
	int r = lock < 0 ? lock : take_picture(rootfd, &picture, err);

	if (r >= 0)
		r = measure_new(&picture, err);
	if (r >= 0)
		merge_long_chains(&picture);
	return r;
}

static int tend_once(int rootfd, const struct layertend_options *options, struct err *err)
{
	/*
	 * Remove the directories that a killed process has left under the temporary names of
	 * drop_layer.
	 */
	int r = at_each_name(rootfd, LAYERLINKS_DIR, remove_gone, NULL, err);

	if (r >= 0)
		r = measure_and_merge(rootfd, err);
	if (r >= 0)
		r = take_out_of_use(rootfd, options, err);
	return r < 0 ? r : at_each_name(rootfd, LAYERLINKS_DIR, remove_gone, NULL, err);
}

/*
 * Maintain the layers.  If another request arrives during the work, maintain them again.  Returns 1
 * when all requests are done.  Returns 0 if another process is maintaining the layers.  That
 * process also serves this request.
 */
static int tend_locked(
	int rootfd, int run, const struct layertend_options *options, struct err *err)
{
	struct err busy = { 0 };
	owned_fd int lock = lock_take(run, TEND_LOCK, LOCK_EXCLUSIVE,
		options->wait ? TEND_WAIT_MS : 0, "the layers", &busy);
	int r;

	if (lock == -ERR_BUSY && !options->wait)
		return 0;
	if (lock < 0) {
		*err = busy;
		return lock;
	}
	/*
	 * A request that arrives during a run needs another run, since a run sees only the layers
	 * that existed at its start.
	 */
	do {
		(void)unlinkat(run, TEND_ASKED, 0);
		r = tend_once(rootfd, options, err);
	} while (r >= 0 && at_exists(run, TEND_ASKED));
	return r < 0 ? r : 1;
}

/*
 * Leave a request for the process that holds the lock.  An error is ignored: if the request cannot
 * be written because the disk is full, the running process frees space anyway.
 */
static void leave_request(int run)
{
	struct err ignored = { 0 };
	int fd = at_create(run, TEND_ASKED, O_WRONLY, 0600, &ignored);

	if (fd >= 0)
		close(fd);
}

int layertend_run(int rootfd, const struct layertend_options *options, struct err *err)
{
	owned_fd int run = at_open(rootfd, "run", O_RDONLY | O_DIRECTORY, err);
	int r;

	if (run < 0 || !at_exists(rootfd, LAYERLINKS_DIR))
		return run < 0 ? run : 0;
	leave_request(run);
	/*
	 * Try again if there is a request.  Another process may have made it after tend_locked
	 * looked for requests and before the lock was released.
	 */
	do
		r = tend_locked(rootfd, run, options, err);
	while (r > 0 && at_exists(run, TEND_ASKED));
	return r < 0 ? r : 0;
}

int layertend_usage(int rootfd, struct layertend_usage *usage, struct err *err)
{
	owned(picture_release) struct picture picture = { .dirfd = -1 };
	int r = take_picture(rootfd, &picture, err);

	*usage = (struct layertend_usage){ 0 };
	if (r < 0 || picture.dirfd < 0)
		return r;
	for (size_t i = 0; i < picture.n; i++)
		if (!picture.layers[i].ok.measured)
			measure(picture.dirfd, &picture.layers[i]);
	sum_sizes(&picture, usage);
	return 0;
}
