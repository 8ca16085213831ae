/*
 * overlay - the live tree is an overlay: layers that are only read, and an
 * upper directory that takes every change.
 *
 *	ROOT/work/NAME/stack      which layers (stack.h)
 *	ROOT/work/NAME/upper-N    the upper directory, ovl-N its work directory
 *	ROOT/work/NAME/mounted    the topmost layer of the last mount: what it stands on is kept
 *	ROOT/work/NAME/freezing   see below; only for a moment
 *
 * Nothing is mounted here: what changed is found by a walk over the upper
 * directory alone, and the tree follows from it and from that of the layers.
 * Another tree is another stack, with an empty upper; the sandbox mounts it.  A fork
 * gets its upper from the first command that may write.
 *
 * An upper directory that was captured, and in which nothing runs, is frozen: it becomes
 * the layer of the tree it shows.  First the stack moves on to a new upper that stands on that
 * layer, then the old one is renamed to its place.  The link 'freezing', NUMBER.GENERATION.BOOT,
 * says which upper is to become which layer, so that the next command can
 * complete a freeze that was cut off in between.
 *
 * Commands that only look have no lock, so a checkout may take away the upper they read.  The
 * stack is replaced before that and its generation never comes back: when it is still
 * the same after a look, what was seen was whole.
 */
#include <dirent.h>
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

#define BASE_INDEX ".base" /* no workspace can be called so */
#define LOOKS_MAX 16       /* at a live tree that others keep replacing */
#define NO_UPPER 0         /* generation of a stack that has no upper yet */
#define FREEZING "freezing"
#define FREEZE_MIN 256 /* entries of an upper that are worth a layer of their own */

struct overlay {
	int dir; /* work/NAME */
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

/* By making one: the file system, the kernel, and what this user may do all have a say. */
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

static void release(struct workspace *ws)
{
	struct overlay *overlay = ws->own;

	if (!overlay)
		return;
	close_fd(&overlay->dir);
	free(overlay);
	ws->own = NULL;
}

static void close_overlay(struct workspace *ws)
{
	indexed_drop(ws);
	close_fd(&ws->live);
	close_fd(&ws->index);
	release(ws);
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

/* Make an upper directory that shows what lies below; its work directory comes with the mount. */
static int make_upper(struct workspace *ws, const struct stack *stack, struct err *err)
{
	struct overlay *overlay = ws->own;
	char upper[32], ovl[32];
	owned_fd int fd = -1;
	int r;

	upper_name(upper, stack->generation);
	ovl_name(ovl, stack->generation);
	r = at_remove_tree(overlay->dir, upper, err);
	if (r >= 0)
		r = at_remove_tree(overlay->dir, ovl, err);
	if (r >= 0)
		r = at_mkdirs(overlay->dir, upper, 0700, err);
	if (r >= 0)
		r = fd = at_open(overlay->dir, upper, O_RDONLY | O_DIRECTORY, err);
	if (r < 0)
		return r;
	/* The top of an overlay has the attributes of its upper. */
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

/* Not durable: without it the stack is as it was, and nothing has been written. */
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

/* Who only looks does without one that is not there yet: live is -1 then. */
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

/* Another upper than the one in use, or a link that was being written. */
static bool is_stray(const struct overlay *overlay, const char *name)
{
	unsigned generation;

	if (name[0] == '.')
		return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
	return (sscanf(name, "upper-%u", &generation) == 1 ||
		       sscanf(name, "ovl-%u", &generation) == 1) &&
	       generation != overlay->stack.generation;
}

/* What a checkout that was killed left behind: whoever has the lock is alone here. */
static int drop_strays(struct overlay *overlay, struct err *err)
{
	int fd = fcntl(overlay->dir, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir) {
		close_fd(&fd);
		return err_errno(err, "list the workspace");
	}
	rewinddir(dir);
	for (struct dirent *d; r >= 0 && (d = readdir(dir));)
		if (is_stray(overlay, d->d_name))
			r = at_remove_tree(overlay->dir, d->d_name, err);
	closedir(dir);
	return r;
}

/* --------------------------------------------------------------- freezing */

/* 1 with what is to become what, 0 nothing is. */
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

/* The upper takes its place among the layers: 1, or 0 when it is there, or nowhere, already. */
static int move_upper(struct workspace *ws, unsigned number, unsigned generation, struct err *err)
{
	struct overlay *overlay = ws->own;
	char upper[32], layer[LAYERS_PATH_MAX];

	upper_name(upper, generation);
	snprintf(layer, sizeof(layer), LAYERLINKS_DIR "/%u", number);
	if (renameat(overlay->dir, upper, ws->setup.rootfd, layer) == 0)
		return 1;
	/* The layers were removed meanwhile, and the number has another one. */
	if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
		return 0;
	return err_errno(err, "freeze '%s'", upper);
}

/*
 * Complete what the link says, if the stack has moved on from that upper.  A layer that
 * was lost in between is no failure: its tree is in the store, and it is made again.
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
		/* After a power cut the layer has to be proved first (layers_check). */
		if (r > 0 && intact && layers_reserved_done(&layers, number, &lost) < 0 &&
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

/* Whether another stack has taken the place of the one we opened. */
static bool has_moved(const struct overlay *overlay)
{
	struct err ignored = { 0 };
	struct stack now;

	return stack_read(overlay->dir, LAYERS_STACK, &now, &ignored) > 0 &&
	       now.generation != overlay->stack.generation;
}

static int moves_too_fast(const struct workspace *ws, struct err *err)
{
	err_set(err, ERR_BUSY, "the live tree of workspace '%s' is replaced again and again",
		ws->setup.name);
	return err_hint(err, "try again when its checkouts have ended");
}

static int open_stack(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		int r = stack_read(overlay->dir, LAYERS_STACK, &overlay->stack, err);

		if (r == 0)
			return err_set(
				err, ERR_CORRUPT, "workspace '%s' has no stack", ws->setup.name);
		if (r > 0)
			r = open_upper(ws, err);
		bool there = r >= 0 && ws->live >= 0;
		if (there || !has_moved(overlay))
			return r;
	}
	return moves_too_fast(ws, err);
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

/* A command that may write completes what was cut off, and relies on what was proved. */
static int open_overlay(struct workspace *ws, struct err *err)
{
	int r = open_dirs(ws, false, err);
	struct overlay *overlay = ws->own;

	if (r >= 0)
		r = open_stack(ws, err);
	if (r < 0 || ws->setup.scratch)
		return r;
	owned_fd int hold = layers_hold(ws->setup.rootfd, LOCK_SHARED, LAYERS_HOLD_MS, err);
	r = hold < 0 ? hold : finish_freezing(ws, err);
	if (r >= 0)
		r = check_layers(ws, err);
	return r < 0 ? r : drop_strays(overlay, err);
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
		ws, &(struct indexed_how){ .lower = &overlay->stack.tree }, tree, err);
}

/* One look without a lock: 1 when it counts, 0 when the tree was replaced meanwhile. */
static int look(struct workspace *ws, struct hash *tree, struct err *err)
{
	owned(report_release) struct report seen = REPORT_INIT;
	struct report *report = ws->setup.report;
	struct err why = { 0 };

	ws->setup.report = &seen;
	int r = capture_upper(ws, tree, &why);
	ws->setup.report = report;
	if (has_moved(ws->own))
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
	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		int r = look(ws, tree, err);

		if (r != 0)
			return r < 0 ? r : 0;
		indexed_drop(ws);
		close_fd(&ws->live);
		r = open_stack(ws, err);
		if (r < 0)
			return r;
	}
	return moves_too_fast(ws, err);
}

/* ------------------------------------------------------------------- moving */

/* The old upper goes last: nothing waits for it. */
static void drop_upper(struct overlay *overlay, unsigned generation)
{
	struct err ignored = { 0 };
	char name[32];

	upper_name(name, generation);
	(void)at_remove_tree(overlay->dir, name, &ignored);
	ovl_name(name, generation);
	(void)at_remove_tree(overlay->dir, name, &ignored);
}

/*
 * Whether the upper, which shows tree, is to be a layer, whose number is in here then: it stands
 * below whatever comes.
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
 * Put the stack in the place of ours.  Where only its sync fails it is there all the same, which
 * overlay->stack says then.
 */
static int switch_to(struct workspace *ws, const struct stack *next, struct err *err)
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

/* How much the upper that is about to become a layer takes, where that is soon found out. */
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

/* The new stack and its upper: what ours was is still there afterwards. */
static int make_next(struct workspace *ws, const struct layers *layers, const struct hash *was,
	const struct hash *tree, struct stack *next, bool *frozen, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct stack here = overlay->stack;
	unsigned generation = here.generation;
	int r = reserve_upper(ws, layers, was, &here, frozen, err);

	*next = here;
	if (r >= 0 && (!*frozen || !hash_eq(&here.tree, tree)))
		r = layers_for(layers, tree, &here, next, err);
	next->generation = generation + 1;
	if (r >= 0)
		r = make_upper(ws, next, err);
	if (r >= 0 && *frozen)
		r = write_freezing(overlay, here.top, generation, err);
	return r;
}

/*
 * Stand on the layers that show tree, with nothing above them.  was: what the live tree was just
 * captured as, NULL when it is not worth keeping.
 */
static int stand_on(
	struct workspace *ws, const struct hash *was, const struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	unsigned old = overlay->stack.generation;
	struct stack next = overlay->stack;
	bool frozen = false;
	owned_fd int hold = layers_hold(ws->setup.rootfd, LOCK_SHARED, LAYERS_HOLD_MS, err);
	int r = hold < 0 ? hold : make_next(ws, &layers, was, tree, &next, &frozen, err);

	if (r >= 0 && frozen)
		note_growth(ws);
	if (r >= 0)
		r = switch_to(ws, &next, err);
	if (overlay->stack.generation == old) {
		drop_upper(overlay, old + 1);
		return r;
	}
	indexed_drop(ws);
	close_fd(&ws->live);
	ws->untidy |= layers_depth(&layers, &next) > LAYERTEND_DEPTH;
	struct err unfrozen = { 0 };
	int freezing = finish_freezing(ws, r < 0 ? &unfrozen : err);
	/* Else the next command tries again to make it a layer. */
	if (freezing >= 0)
		drop_upper(overlay, old);
	if (r >= 0)
		r = freezing;
	return r < 0 ? r : open_upper(ws, err);
}

/* What the workspace this one is forked from stands on: 1, or 0 when that is not known. */
static int stack_of(struct workspace *ws, const char *name, struct stack *stack)
{
	char path[WORKSPACE_NAME_MAX + 8];
	struct err ignored = { 0 };

	snprintf(path, sizeof(path), WORKSPACE_LIVE_DIR "/%s", name);
	owned_fd int dir = at_open(ws->setup.rootfd, path, O_RDONLY | O_DIRECTORY, &ignored);
	return dir >= 0 && stack_read(dir, LAYERS_STACK, stack, &ignored) > 0;
}

/* The same without an upper, which comes when somebody works there: many a fork is never used. */
static int lie_on(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	struct stack like, next = { .generation = NO_UPPER };
	bool known = ws->setup.like && stack_of(ws, ws->setup.like, &like);
	owned_fd int hold = layers_hold(ws->setup.rootfd, LOCK_SHARED, LAYERS_HOLD_MS, err);

	layers.donor = donor;
	int r = hold < 0 ? hold : layers_for(&layers, tree, known ? &like : NULL, &next, err);
	if (r >= 0)
		r = switch_to(ws, &next, err);
	return r < 0 ? r : drop_strays(overlay, err);
}

/* An upper that is walked by every capture, and would be copied by every fork, becomes a layer. */
static int freeze_overlay(struct workspace *ws, const struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);

	/* Without room for one more layer nothing is gained. */
	if (ws->live < 0 || ws->shown >= 0 || hash_eq(tree, &overlay->stack.tree) ||
		layers_depth(&layers, &overlay->stack) >= LAYERLINKS_DEPTH_MAX - 1)
		return 0;
	return stand_on(ws, tree, tree, err);
}

/* Under running programs: through the overlay they see, which takes it into the upper. */
static int change_shown(struct workspace *ws, const struct hash *from, const struct hash *to,
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
	return r < 0 ? r : indexed_settle(ws, err);
}

static int apply_overlay(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	if (ws->shown >= 0)
		return change_shown(ws, from, to, now, err);
	*now = *to;
	return stand_on(ws, ws->running_left ? NULL : from, to, err);
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
	return ws->setup.first ? stand_on(ws, NULL, tree, err) : lie_on(ws, tree, donor, err);
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

/* Nothing is mounted yet: a shorter chain can be taken, and what is mounted then is pinned. */
static int settle_layers(struct workspace *ws, struct err *err)
{
	struct overlay *overlay = ws->own;
	struct layers layers = layers_of(ws);
	char top[STACK_TEXT], pinned[STACK_TEXT];
	struct stack shorter = overlay->stack;
	owned_fd int hold = layers_hold(ws->setup.rootfd, LOCK_SHARED, LAYERS_HOLD_MS, err);
	int r = hold < 0 ? hold : layers_shorten(&layers, &shorter, err);

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
		n = settle_layers(ws, err);
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

static int below_overlay(struct workspace *ws, struct hash *tree, struct err *err)
{
	struct overlay *overlay = ws->own;

	*tree = overlay->stack.tree;
	return 1;
}

/* ----------------------------------------------------------- a base in place */

/* The directory below, as if it were a workspace of its own; for looking at it only. */
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

static void close_base(struct workspace *base)
{
	indexed_drop(base);
	close_fd(&base->live);
	close_fd(&base->index);
}

/* Its index is kept, to see later whether somebody changed it. */
static int take_overlay(struct workspace *ws, int source, struct hash *tree, struct err *err)
{
	struct workspace base;
	int r = open_base(ws, source, &base, err);

	if (r >= 0)
		r = indexed_capture(&base, &(struct indexed_how){ 0 }, tree, err);
	if (r >= 0)
		r = indexed_settle(&base, err);
	close_base(&base);
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
	/* The base was read before the user namespace was entered. */
	if (r >= 0)
		r = indexed_capture(&base, &(struct indexed_how){ .other_ids = true }, now, err);
	close_base(&base);
	return r < 0 ? r : !hash_eq(was, now);
}

const struct workspace_backend workspace_overlay = {
	.kind = { .name = "overlay", .in_place = WORKSPACE_BELOW, .mounted = true },
	.probe = probe_overlay,
	.create = create_overlay,
	.open = open_overlay,
	.capture = capture_overlay,
	.settle = indexed_settle,
	.apply = apply_overlay,
	.mount = mount_overlay,
	.freeze = freeze_overlay,
	.freeze_min = FREEZE_MIN,
	.below = below_overlay,
	.take = take_overlay,
	.drift = drift_overlay,
	.destroy = destroy_overlay,
	.close = close_overlay,
};
