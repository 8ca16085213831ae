/*
 * overlay - the backend whose live tree is an overlay: layers that are only read, and an upper
 * directory that takes every change.
 *
 *	ROOT/work/NAME/stack      the layers below (stack.h)
 *	ROOT/work/NAME/upper-N    the upper directory
 *	ROOT/work/NAME/ovl-N      the work directory that overlayfs needs for upper-N
 *	ROOT/work/NAME/mounted    the topmost layer of the last mount; the chain below it is
 *	                          not dropped
 *	ROOT/work/NAME/freezing   exists while an upper becomes a layer
 *
 * Only the sandbox mounts the overlay.  A capture walks only the upper directory, and merges the
 * result with the tree of the layers.  A checkout makes another stack with an empty upper.  A fork
 * begins without an upper, and the first command that may write in the fork makes one.
 *
 * An upper directory can become a layer if it was captured and no program runs in it.  This is
 * called freezing.  The new layer, on top of the layers below it, shows the captured tree.  First a
 * new stack is written, which names the future layer and has a new upper.  Then the old upper is
 * renamed to be that layer.  The link 'freezing' has the text NUMBER.GENERATION.BOOT: the number of
 * the layer, the generation of the old upper, and the boot of the machine.  With this link, the
 * next command can complete an interrupted freeze.
 *
 * Commands that only read the live tree take no lock, so a checkout may remove the upper that such
 * a command reads.  The generation of an upper is a number that no later upper of the workspace
 * gets, and a checkout replaces the stack before it removes the upper.  So if the stack names the
 * same generation before and after a capture, the capture saw the whole tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/diskuse.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/sandbox_probe.h"
#include "workspace/indexed.h"
#include "workspace/layers.h"
#include "workspace/layertend.h"

#define BASE_INDEX ".base" /* a workspace cannot have this name, because of the dot */
/* maximum number of attempts to read a live tree that other commands replace */
#define TRIES_MAX 16
#define NO_UPPER 0 /* generation of a stack that has no upper directory yet */
#define FREEZING "freezing"
#define FREEZE_MIN 256 /* an upper with fewer entries is not worth freezing */

struct overlay {
	int dir; /* the directory work/NAME */
	struct stack stack;
	char lower[LAYERS_LOWER_MAX][LAYERS_PATH_MAX];
};

static void upper_name(char out[32], unsigned generation)
{
	snprintf(out, 32, "upper-%u", generation);
}

static void ovl_name(char out[32], unsigned generation)
{
	snprintf(out, 32, "ovl-%u", generation);
}

static struct layers layers_of(struct workspace *ws)
{
	return (struct layers){
		.rootfd = ws->setup.rootfd,
		.store = ws->setup.store,
		.squashed = ws->setup.squashed,
		.report = ws->setup.report,
		.progress = &ws->counters->applied,
		.near = ws->setup.near,
		.n_near = ws->setup.n_near,
		.donor = -1,
		.untidy = &ws->untidy,
	};
}

/*
 * Find out whether overlays work, by mounting one.  The result depends on the file system, the
 * kernel and the rights of the user.
 */
static int probe_overlay(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	struct err err = { 0 };

	if (sandbox_probe_overlay(rootfd, &err) >= 0)
		return 1;
	snprintf(why, WORKSPACE_WHY_MAX, "%.*s%s%.*s", WORKSPACE_WHY_MAX / 2, err.text,
		err.hint[0] ? "; " : "", WORKSPACE_WHY_MAX / 2 - 8, err.hint);
	return 0;
}

/* ------------------------------------------------------------------ opening */

static void close_overlay(struct workspace *ws)
{
	struct overlay *overlay = ws->own;

	indexed_close(ws);
	if (!overlay)
		return;
	close_fd(&overlay->dir);
	free(overlay);
	ws->own = NULL;
}

static int open_dirs(struct workspace *ws, bool make, struct err *err)
{
	struct overlay *overlay = ws->own = mem_zalloc(sizeof(*overlay));
	owned_fd int work =
		at_open(ws->setup.rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);
	int r = work;

	overlay->dir = -1;
	if (r >= 0 && make)
		r = at_mkdirs(work, ws->setup.name, 0700, err);
	if (r >= 0)
		r = overlay->dir = at_open(work, ws->setup.name, O_RDONLY | O_DIRECTORY, err);
	if (r >= 0)
		r = ws->index =
			at_open(ws->setup.rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);
	return r < 0 ? err_context(err, "the live tree of workspace '%s'", ws->setup.name) : 0;
}

/*
 * Make an empty upper directory for a stack.  Its work directory is made later, when the overlay is
 * mounted.
 */
static int make_upper(struct workspace *ws, const struct stack *stack, struct err *err)
{
	struct overlay *overlay = ws->own;
	char upper[32], ovl[32];
	owned_fd int fd = -1;

	upper_name(upper, stack->generation);
	ovl_name(ovl, stack->generation);
	int r = at_remove_tree(overlay->dir, upper, err);
	if (r >= 0)
		r = at_remove_tree(overlay->dir, ovl, err);
	if (r >= 0)
		r = at_mkdirs(overlay->dir, upper, 0700, err);
	if (r >= 0)
		r = fd = at_open(overlay->dir, upper, O_RDONLY | O_DIRECTORY, err);
	if (r < 0)
		return r;
	/*
	 * Give the upper the attributes of the tree's root, because the root of an overlay has the
	 * attributes of its upper.
	 */
	struct treeapply_options options = {
		.fd = fd,
		.kind = TREEAPPLY_LAYER,
		.squashed = ws->setup.squashed,
		.store = ws->setup.store,
		.from = &stack->tree,
		.to = &stack->tree,
		.donor = -1,
		.report = ws->setup.report,
	};
	return treeapply_run(&options, err);
}

/*
 * Make the first upper of a fork.  The new stack is not synced.  If a crash loses it, the old stack
 * without an upper is also correct.
 */
static int make_first_upper(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct stack next = overlay->stack;

	next.generation = NO_UPPER + 1;
	int r = make_upper(ws, &next, err);
	if (r >= 0)
		r = stack_write(overlay->dir, LAYERS_STACK, &next, false, err);
	if (r >= 0)
		overlay->stack = next;
	return r;
}

/*
 * Open the upper directory.  For a scratch workspace a missing upper is not made, and ws->live
 * stays -1.
 */
static int open_upper(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	char upper[32];

	if (overlay->stack.generation == NO_UPPER) {
		int r = ws->setup.scratch ? 0 : make_first_upper(ws, err);

		if (r < 0 || ws->setup.scratch)
			return r;
	}
	upper_name(upper, overlay->stack.generation);
	ws->live = at_open(overlay->dir, upper, O_RDONLY | O_DIRECTORY, err);
	return ws->live < 0 ? ws->live : 0;
}

/* Whether a file name is that of an upper that is not in use, or the temporary name of a link. */
static bool is_stray(const struct overlay *overlay, const char *name)
{
	unsigned generation;

	if (name[0] == '.')
		return true;
	return (sscanf(name, "upper-%u", &generation) == 1 ||
		       sscanf(name, "ovl-%u", &generation) == 1) &&
	       generation != overlay->stack.generation;
}

static int remove_stray(void *arg, int dirfd, const char *name, struct err *err)
{
	return is_stray(arg, name) ? at_remove_tree(dirfd, name, err) : 0;
}

/*
 * Remove the files that a killed checkout has left.  The caller has the lock of the workspace, so
 * no other process uses them.
 */
static int remove_strays(struct overlay *overlay, struct err *err)
{
	return at_each_name(overlay->dir, ".", remove_stray, overlay, err);
}

/* --------------------------------------------------------------- freezing */

/*
 * Read the link 'freezing'.  Returns 1 if a freeze has begun and not ended, else 0.  *intact is set
 * to true if the freeze began in this boot of the machine.
 */
static int read_freezing(struct overlay *overlay, unsigned *number, unsigned *generation,
	bool *intact, struct err *err)
{
	const char *boot = layerlinks_boot();
	char text[STACK_TEXT];
	int end = 0;
	int r = stack_read_text(overlay->dir, FREEZING, text, err);

	if (r <= 0)
		return r;
	*intact = sscanf(text, "%u.%u.%n", number, generation, &end) == 2 && end && boot &&
		  !strcmp(text + end, boot);
	return end != 0;
}

static int write_freezing(
	struct overlay *overlay, unsigned number, unsigned generation, struct err *err)
{
	const char *boot = layerlinks_boot();
	char text[STACK_TEXT];

	snprintf(text, sizeof(text), "%u.%u.%s", number, generation, boot ? boot : "");
	return stack_write_text(overlay->dir, FREEZING, text, false, err);
}

/*
 * Rename an upper to be a layer.  Returns 1, or 0 if the upper does not exist, because it has been
 * renamed already or is lost.
 */
static int move_upper(struct workspace *ws, unsigned number, unsigned generation, struct err *err)
{
	struct overlay *overlay = ws->own;
	char upper[32], layer[LAYERS_PATH_MAX];

	upper_name(upper, generation);
	snprintf(layer, sizeof(layer), LAYERLINKS_DIR "/%u", number);
	if (renameat(overlay->dir, upper, ws->setup.rootfd, layer) == 0)
		return 1;
	/*
	 * ENOTEMPTY and EEXIST mean that the reserved layer was removed, and that its number
	 * belongs to another layer now.
	 */
	if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
		return 0;
	return err_errno(err, "freeze '%s'", upper);
}

/*
 * Complete the freeze that the link describes, if the stack has been replaced already.  It is no
 * failure if the layer was lost in the meantime: the store has the tree of the layer, so the layer
 * can be made again.
 */
static int finish_freezing(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	unsigned number, generation;
	struct err lost = { 0 };
	bool intact;
	int r = read_freezing(overlay, &number, &generation, &intact, err);

	if (r > 0 && generation < overlay->stack.generation) {
		r = move_upper(ws, number, generation, err);
		/*
		 * Mark the layer only if the freeze began in this boot of the machine.  Otherwise
		 * layers_check proves the layer and marks it.
		 */
		if (r > 0 && intact && layers_complete(&layers, number, &lost) < 0 &&
			lost.code != ERR_NOT_FOUND) {
			*err = lost;
			r = -(int)lost.code;
		}
	}
	if (r < 0)
		return r;
	if (unlinkat(overlay->dir, FREEZING, 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove '" FREEZING "'");
	return 0;
}

/* Whether the stack was replaced after this process had opened it. */
static bool stack_replaced(const struct overlay *overlay)
{
	struct err ignored = { 0 };
	struct stack now;

	return stack_read(overlay->dir, LAYERS_STACK, &now, &ignored) > 0 &&
	       now.generation != overlay->stack.generation;
}

static int replaced_too_often(const struct workspace *ws, struct err *err)
{
	err_set(err, ERR_BUSY, "the live tree of workspace '%s' is replaced again and again",
		ws->setup.name);
	return err_hint(err, "try again when its checkouts have ended");
}

static int open_stack(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;

	for (int tries = 0; tries < TRIES_MAX; tries++) {
		int r = stack_read(overlay->dir, LAYERS_STACK, &overlay->stack, err);

		if (r == 0)
			return err_set(
				err, ERR_CORRUPT, "workspace '%s' has no stack", ws->setup.name);
		if (r > 0)
			r = open_upper(ws, err);
		bool opened = r >= 0 && ws->live >= 0;
		if (opened || !stack_replaced(overlay))
			return r;
	}
	return replaced_too_often(ws, err);
}

static int check_layers(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	struct stack checked = overlay->stack;
	int r = layers_check(&layers, &checked, err);

	if (r > 0)
		r = stack_write(overlay->dir, LAYERS_STACK, &checked, ws->setup.durable, err);
	if (r >= 0)
		overlay->stack = checked;
	return r;
}

/*
 * Open the live tree.  If the command may write, this also completes an interrupted freeze, and
 * uses a layer only after a check that the layer is intact.
 */
static int open_overlay(struct workspace *ws, struct err *err)
{
	int r = open_dirs(ws, false, err);

	if (r >= 0)
		r = open_stack(ws, err);
	if (r < 0 || ws->setup.scratch)
		return r;
	owned_fd int lock = layers_lock(ws->setup.rootfd, LOCK_SHARED, err);
	r = lock < 0 ? lock : finish_freezing(ws, err);
	if (r >= 0)
		r = check_layers(ws, err);
	return r < 0 ? r : remove_strays(ws->own, err);
}

/* ---------------------------------------------------------------- capturing */

static int capture_upper(struct workspace *ws, struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;

	if (ws->live < 0) {
		*tree = overlay->stack.tree;
		return 0;
	}
	return indexed_capture(
		ws, &(struct indexed_options){ .lower = &overlay->stack.tree }, tree, err);
}

/*
 * Capture once without a lock.  Returns 1, or 0 if another process replaced the stack during the
 * capture.
 */
static int try_capture(struct workspace *ws, struct hash *tree, struct err *err)
{
	owned(report_release) struct report seen = REPORT_INIT;
	struct report *report = ws->setup.report;
	struct err why = { 0 };

	ws->setup.report = &seen;
	int r = capture_upper(ws, tree, &why);
	ws->setup.report = report;
	if (stack_replaced(ws->own))
		return 0;
	report_merge(report, &seen);
	if (r < 0)
		*err = why;
	return r < 0 ? r : 1;
}

static int capture_overlay(struct workspace *ws, struct hash *tree, struct err *err)
{
	if (!ws->setup.scratch)
		return capture_upper(ws, tree, err);
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		int r = try_capture(ws, tree, err);

		if (r != 0)
			return r < 0 ? r : 0;
		indexed_drop(ws);
		close_fd(&ws->live);
		r = open_stack(ws, err);
		if (r < 0)
			return r;
	}
	return replaced_too_often(ws, err);
}

/* ---------------------------------------------------------- replacing the stack */

/* Remove an upper and its work directory.  If this fails, remove_strays tries again later. */
static void remove_upper(struct overlay *overlay, unsigned generation)
{
	struct err ignored = { 0 };
	char name[32];

	upper_name(name, generation);
	(void)at_remove_tree(overlay->dir, name, &ignored);
	ovl_name(name, generation);
	(void)at_remove_tree(overlay->dir, name, &ignored);
}

/*
 * Decide whether to freeze the upper, which shows the given tree, and set *frozen.  If *frozen is
 * true, a layer is reserved for the upper, and *here is set to the stack with that layer on top.
 * The caller makes the next stack from *here.
 */
static int reserve_upper(struct workspace *ws, const struct layers *layers, const struct hash *tree,
	struct stack *here, bool *frozen, struct err *err)
{
	*frozen = ws->live >= 0 && tree && !hash_eq(tree, &here->tree) &&
		  layers_depth(layers, here) < LAYERLINKS_DEPTH_MAX - 1 &&
		  !layers_has(layers, tree);
	if (!*frozen)
		return 0;
	int r = layers_reserve(layers, here, tree, &here->top, err);

	here->tree = *tree;
	return r;
}

/*
 * Replace the stack.  If only the sync fails, this function fails although the new stack is in
 * place.  So after a failure overlay->stack is read from the link.
 */
static int replace_stack(struct workspace *ws, const struct stack *next, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct err unread = { 0 };
	struct stack now;
	int r = workspace_forget(ws->setup.rootfd, ws->setup.name, err);

	if (r < 0)
		return r;
	r = stack_write(overlay->dir, LAYERS_STACK, next, ws->setup.durable, err);
	if (r >= 0)
		overlay->stack = *next;
	else if (stack_read(overlay->dir, LAYERS_STACK, &now, &unread) > 0)
		overlay->stack = now;
	(void)unlinkat(overlay->dir, LAYERS_MOUNTED, 0);
	return r;
}

/*
 * Set ws->untidy if the upper is so large that layers should be maintained as soon as the upper is
 * a layer.
 */
static void note_growth(struct workspace *ws)
{
	struct overlay *overlay = ws->own;
	struct diskuse use = { 0 };
	char upper[32];

	upper_name(upper, overlay->stack.generation);
	if (ws->entries < FREEZE_MIN)
		diskuse_add(overlay->dir, upper, &use);
	ws->untidy |= ws->entries >= FREEZE_MIN || use.bytes > layertend_step(ws->setup.rootfd);
}

/* Make the next stack and its upper, beside the stack and the upper that are in use. */
static int make_next(struct workspace *ws, const struct layers *layers, const struct hash *was,
	const struct hash *tree, struct stack *next, bool *frozen, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct stack here = overlay->stack;
	unsigned generation = here.generation;
	int r = reserve_upper(ws, layers, was, &here, frozen, err);

	*next = here;
	if (r >= 0 && (!*frozen || !hash_eq(&here.tree, tree)))
		r = layers_find_or_make(layers, tree, &here, next, err);
	next->generation = generation + 1;
	if (r >= 0)
		r = make_upper(ws, next, err);
	if (r >= 0 && *frozen)
		r = write_freezing(overlay, here.top, generation, err);
	return r;
}

/*
 * Make the live tree show the given tree: switch to a stack whose layers show the tree, with an
 * empty upper.  The tree 'was' comes from a capture that was just made, so the old upper can be
 * frozen as the layer of that tree.  If 'was' is NULL, the old upper is only removed.
 */
static int switch_to_tree(
	struct workspace *ws, const struct hash *was, const struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	unsigned old = overlay->stack.generation;
	struct stack next = overlay->stack;
	bool frozen = false;
	owned_fd int lock = layers_lock(ws->setup.rootfd, LOCK_SHARED, err);
	int r = lock < 0 ? lock : make_next(ws, &layers, was, tree, &next, &frozen, err);

	if (r >= 0 && frozen)
		note_growth(ws);
	if (r >= 0)
		r = replace_stack(ws, &next, err);
	if (overlay->stack.generation == old) {
		remove_upper(overlay, old + 1);
		return r;
	}
	indexed_drop(ws);
	close_fd(&ws->live);
	ws->untidy |= layers_depth(&layers, &next) > LAYERTEND_DEPTH;
	struct err unfrozen = { 0 };
	int freezing = finish_freezing(ws, r < 0 ? &unfrozen : err);
	/*
	 * If the freeze failed, keep the old upper.  The next command tries again to make it a
	 * layer.
	 */
	if (freezing >= 0)
		remove_upper(overlay, old);
	if (r >= 0)
		r = freezing;
	return r < 0 ? r : open_upper(ws, err);
}

/* Read the stack of the workspace that is forked.  Returns false if that stack is not known. */
static bool stack_of(struct workspace *ws, const char *name, struct stack *stack)
{
	char path[WORKSPACE_NAME_MAX + 8];
	struct err ignored = { 0 };

	snprintf(path, sizeof(path), WORKSPACE_LIVE_DIR "/%s", name);
	owned_fd int dir = at_open(ws->setup.rootfd, path, O_RDONLY | O_DIRECTORY, &ignored);
	return dir >= 0 && stack_read(dir, LAYERS_STACK, stack, &ignored) > 0;
}

/*
 * Create a fork without an upper.  The first command that may write in the fork makes the upper,
 * because many forks are never used.
 */
static int create_fork(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct layers layers = layers_of(ws);
	struct stack like, next = { .generation = NO_UPPER };
	const struct stack *here =
		ws->setup.like && stack_of(ws, ws->setup.like, &like) ? &like : NULL;
	owned_fd int lock = layers_lock(ws->setup.rootfd, LOCK_SHARED, err);

	layers.donor = donor;
	int r = lock < 0 ? lock : layers_find_or_make(&layers, tree, here, &next, err);
	if (r >= 0)
		r = replace_stack(ws, &next, err);
	return r < 0 ? r : remove_strays(ws->own, err);
}

/*
 * Freeze the upper.  Otherwise every capture would have to walk the upper, and every fork would
 * have to write the files of the upper once more.
 */
static int freeze_overlay(struct workspace *ws, const struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);

	/*
	 * Do not freeze if the chain has no room for another layer.  The chain would have to be
	 * merged, and the merge would cost more than the freeze saves.
	 */
	if (ws->live < 0 || ws->shown >= 0 || hash_eq(tree, &overlay->stack.tree) ||
		layers_depth(&layers, &overlay->stack) >= LAYERLINKS_DEPTH_MAX - 1)
		return 0;
	return switch_to_tree(ws, tree, tree, err);
}

/*
 * Change the live tree while programs run.  The changes are made through the mount of these
 * programs, which writes to the upper.
 */
static int apply_through_mount(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	struct treeapply_options options = {
		.fd = ws->shown,
		.shift = ws->shown_shift,
		.squashed = ws->setup.squashed,
		.store = ws->setup.store,
		.from = from,
		.to = to,
		.donor = -1,
		.report = ws->setup.report,
		.progress = &ws->counters->applied,
	};
	int r = treeapply_run(&options, err);

	if (r >= 0)
		r = capture_upper(ws, now, err);
	if (r >= 0)
		r = store_flush(ws->setup.store, err);
	return r < 0 ? r : indexed_save(ws, err);
}

static int apply_overlay(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	if (ws->shown >= 0)
		return apply_through_mount(ws, from, to, now, err);
	*now = *to;
	return switch_to_tree(ws, ws->running_left ? NULL : from, to, err);
}

static int create_overlay(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct layers layers = layers_of(ws);
	int r = 0;

	if (ws->setup.first)
		r = layers_make_base(&layers, tree, ws->setup.path, donor, err);
	if (r >= 0)
		r = open_dirs(ws, true, err);
	if (r < 0)
		return r;
	return ws->setup.first ? switch_to_tree(ws, NULL, tree, err)
			       : create_fork(ws, tree, donor, err);
}

static int destroy_overlay(struct workspace *ws, struct err *err)
{
	int r = workspace_forget(ws->setup.rootfd, ws->setup.name, err);
	owned_fd int work =
		at_open(ws->setup.rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY, err);

	if (r < 0 || work < 0)
		return r < 0 ? r : work;
	return at_remove_tree(work, ws->setup.name, err);
}

/*
 * Prepare the layers for a mount.  A shorter chain is taken if one exists.  The top of the chain is
 * recorded in LAYERS_MOUNTED, so that the chain is not dropped.
 */
static int pin_layers(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	char top[STACK_TEXT], pinned[STACK_TEXT];
	struct stack shorter = overlay->stack;
	owned_fd int lock = layers_lock(ws->setup.rootfd, LOCK_SHARED, err);
	int r = lock < 0 ? lock : layers_shorten(&layers, &shorter, err);

	if (r > 0)
		r = stack_write(overlay->dir, LAYERS_STACK, &shorter, ws->setup.durable, err);
	if (r < 0)
		return r;
	overlay->stack = shorter;
	snprintf(top, sizeof(top), "%u", shorter.top);
	r = stack_read_text(overlay->dir, LAYERS_MOUNTED, pinned, err);
	if (r > 0 && !strcmp(top, pinned))
		return 0;
	return r < 0 ? r : stack_write_text(overlay->dir, LAYERS_MOUNTED, top, false, err);
}

static int mount_overlay(struct workspace *ws, struct workspace_mount *mount, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	char upper[32], ovl[32];
	int n = ws->live < 0 ? open_upper(ws, err) : 0;

	if (n >= 0)
		n = pin_layers(ws, err);
	if (n >= 0)
		n = layers_lower(&layers, &overlay->stack, overlay->lower, err);
	if (n < 0)
		return n;
	upper_name(upper, overlay->stack.generation);
	ovl_name(ovl, overlay->stack.generation);
	mount->n_lower = (size_t)n;
	for (int i = 0; i < n; i++)
		mount->lower[i] = overlay->lower[i];
	snprintf(mount->upper, sizeof(mount->upper), WORKSPACE_LIVE_DIR "/%s/%s", ws->setup.name,
		upper);
	snprintf(
		mount->work, sizeof(mount->work), WORKSPACE_LIVE_DIR "/%s/%s", ws->setup.name, ovl);
	return at_mkdirs(overlay->dir, ovl, 0700, err);
}

static int lower_tree_overlay(struct workspace *ws, struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;

	*tree = overlay->stack.tree;
	return 1;
}

/* ----------------------------------------------------------- a base in place */

/*
 * Make *base a workspace whose live tree is the directory 'source', so that this directory, which
 * is used in place, can be captured.
 */
static int open_base(struct workspace *ws, int source, struct workspace *base, struct err *err)
{
	*base = (struct workspace){
		.setup = {
			.name = BASE_INDEX,
			.rootfd = ws->setup.rootfd,
			.store = ws->setup.store,
			.scratch = ws->setup.scratch,
			.exclude = ws->setup.exclude,
			.n_exclude = ws->setup.n_exclude,
			.report = ws->setup.report,
		},
		.counters = ws->counters,
		.live = fcntl(source, F_DUPFD_CLOEXEC, 0),
		.shown = -1,
	};
	base->index = at_open(ws->setup.rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY, err);
	return base->index < 0 ? base->index : 0;
}

/*
 * Capture the directory that is used in place.  The index is saved, because drift_overlay compares
 * the directory with it.
 */
static int read_overlay_base(struct workspace *ws, int source, struct hash *tree, struct err *err)
{
	struct workspace base;
	int r = open_base(ws, source, &base, err);

	if (r >= 0)
		r = indexed_capture(&base, &(struct indexed_options){ 0 }, tree, err);
	if (r >= 0)
		r = indexed_save(&base, err);
	indexed_close(&base);
	return r;
}

static int drift_overlay(struct workspace *ws, struct hash *was, struct hash *now, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	struct workspace base;
	int r = layers_base_tree(&layers, overlay->stack.base, was, err);

	if (r < 0)
		return r;
	owned_fd int source =
		at_open_from(ws->setup.rootfd, ws->setup.path, O_RDONLY | O_DIRECTORY, err);
	if (source < 0)
		return err_context(err, "the directory below the live tree");
	r = open_base(ws, source, &base, err);
	/*
	 * The ids in the index differ from the ids that this process sees, because init read the
	 * base before it entered the user namespace.
	 */
	if (r >= 0)
		r = indexed_capture(
			&base, &(struct indexed_options){ .other_ids = true }, now, err);
	indexed_close(&base);
	return r < 0 ? r : !hash_eq(was, now);
}

const struct workspace_backend workspace_overlay = {
	.kind = { .name = "overlay", .in_place = WORKSPACE_BELOW, .mounted = true },
	.probe = probe_overlay,
	.create = create_overlay,
	.open = open_overlay,
	.capture = capture_overlay,
	.save_index = indexed_save,
	.apply = apply_overlay,
	.mount = mount_overlay,
	.freeze = freeze_overlay,
	.freeze_min = FREEZE_MIN,
	.lower_tree = lower_tree_overlay,
	.read_in_place = read_overlay_base,
	.drift = drift_overlay,
	.destroy = destroy_overlay,
	.close = close_overlay,
};
