/*
 * The order of the steps of mountplan_apply matters:
 *
 * 1. Find the places of the plan, and make the stubs, while every file can still be reached.
 * 2. Copy the mount namespace.
 * 3. Copy the mounts of all places that get a mount of their own.  A copy has only its own
 *    restrictions, since "/" is not restricted yet.  So a writable place in a read-only directory
 *    needs no special treatment.
 * 4. Restrict "/", and attach the copies, a directory before its entries.
 *
 * A copy of a mount includes the mounts that lie in it.  In a child user namespace, a mount can be
 * copied only together with the mounts that lie in it.  So if programs of the sandbox mount a part
 * of the tree once more, the new mount has the same restrictions.
 *
 * For a later change, the mounts from a place downwards are built anew, in a mount namespace of
 * their own.  Then they are attached with one call.  When this tree of mounts propagates to a child
 * user namespace, the kernel locks all mounts of the tree there, except its root.  So the root is a
 * mask, and the visible mounts are on top of it.
 */
#include "sandbox/mountplan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/str.h"
#include "sandbox/mountcall.h"
#include "sandbox/mountcover.h"
#include "sandbox/mountplaces.h"
#include "sandbox/mountproof.h"
#include "sandbox/mounts.h"
#include "sandbox/mountstub.h"
#include "sandbox/namespaces.h"

#define BIT(kind) MOUNTPLACES_BIT(MOUNTPLAN_##kind)
#define STUBS (BIT(STUB) | BIT(STUB_FILE) | BIT(STUB_DOT))

static int open_root(struct err *err)
{
	return at_open_given("/", O_PATH | O_DIRECTORY, 0, err);
}

/* -------------------------------------------------------------------- places */

static int find_places(
	const struct mountplan *plan, int root, struct mountplan_made *made, struct err *err)
{
	owned(mountplaces_leave) struct mountplaces_walk walk = MOUNTPLACES_WALK(root);

	made->places = mountplaces_new(&made->arena);
	for (size_t i = 0; i < plan->n; i++) {
		const struct mountplan_entry *entry = &plan->list[i];
		unsigned bit = MOUNTPLACES_BIT(entry->kind);
		struct mountplace *place;

		if (mountplaces_add_on(
			    &walk, made->places, &made->arena, entry->path, bit, &place, err) < 0)
			return -(int)err->code;
		if (!place->parent && bit & (BIT(MASK) | BIT(PRIVATE)))
			bit = BIT(ROOT);
		place->planned |= bit;
		if (bit & BIT(MASK) && place->entry == SIZE_MAX)
			place->entry = i;
	}
	mountplaces_decide(made->places);
	return 0;
}

/* -------------------------------------------------------------------- copies */

static bool is_writable(int tree, const char *path)
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open(tree, *path ? path : ".", O_PATH, &ignored);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && !(fs.f_flags & ST_RDONLY);
}

/*
 * Returns the path from a place to directory number 'which' of mountplaces_kept, if a mount on this
 * directory is to stay writable.  Returns NULL if the directory does not lie below the place, must
 * become read-only, or is read-only already.
 */
static const char *kept_in(
	struct mountplace *root, const struct mountplace *place, int tree, size_t which)
{
	const char *within = mountplaces_within(mountplaces_kept[which], place->path);
	const struct mountplace *own = mountplaces_find(root, mountplaces_kept[which]);

	if (!within || (own && mountplaces_bits(own) & (BIT(READ_ONLY) | BIT(PROTECT) | STUBS)))
		return NULL;
	return is_writable(tree, within) ? within : NULL;
}

/*
 * Restrict the mounts of a tree, but leave those on directories of mountplaces_kept writable.
 * EINVAL is no failure: such a directory need not be a mount point.
 */
static int restrict_tree(
	struct mountplace *root, const struct mountplace *place, int tree, struct err *err)
{
	struct mount_attr open_up = { .attr_clr = MOUNT_ATTR_RDONLY };
	uint64_t attr = (place->read_only ? MOUNT_ATTR_RDONLY : 0) |
			(place->no_exec ? MOUNT_ATTR_NOEXEC : 0);
	const char *open[MOUNTPLACES_KEPT];

	for (size_t i = 0; i < MOUNTPLACES_KEPT; i++)
		open[i] = place->read_only ? kept_in(root, place, tree, i) : NULL;
	if (attr && mountcall_restrict(tree, AT_RECURSIVE, attr) < 0)
		return err_errno(err, "restrict '/%s'", place->path);
	for (size_t i = 0; i < MOUNTPLACES_KEPT; i++)
		if (open[i] &&
			mount_setattr(tree, open[i], AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, &open_up,
				sizeof(open_up)) < 0 &&
			errno != EINVAL)
			return err_errno(err, "leave '/%s' writable", mountplaces_kept[i]);
	return 0;
}

static int copy_place(struct mountplace *root, struct mountplace *place,
	struct mountplaces_walk *walk, struct err *err)
{
	int dir = mountplaces_enter(walk, place->parent, err);

	if (dir < 0)
		return dir;
	close_fd(&place->tree);
	place->tree = open_tree(dir, place->name,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	if (place->tree < 0)
		return err_errno(err, "take '/%s'", place->path);
	return restrict_tree(root, place, place->tree, err);
}

static int make_directory(struct mountplan_made *made, struct mountplace *place, struct err *err)
{
	owned(mountcover_release) struct mountcover cover = { .n = 0 };
	mode_t mode = place->parent ? place->mode : 0755;

	mountcover_add(&cover, &made->arena, place, NULL);
	close_fd(&place->tree);
	place->tree = mountcover_new_directory(
		&cover, mode, made->owner, place->parent ? made->private_bytes : 0, err);
	if (place->tree < 0)
		return place->tree;
	if (place->no_exec && mountcall_restrict(place->tree, 0, MOUNT_ATTR_NOEXEC) < 0)
		return err_errno(err, "restrict '/%s'", place->path);
	return 0;
}

static bool is_mask(const struct mountplace *place)
{
	return place->hidden && mountplaces_bits(place) & BIT(MASK);
}

/* Make the mounts of a place and of all places below it, except masks. */
static int make_trees(
	struct mountplan_made *made, struct mountplace *top, int root_fd, struct err *err)
{
	owned(mountplaces_leave) struct mountplaces_walk walk = MOUNTPLACES_WALK(root_fd);
	int r = 0;

	for (struct mountplace *one = top; one && r >= 0; one = mountplaces_next(one, top)) {
		if (!one->mounted || is_mask(one) || (!one->parent && !one->hidden))
			continue;
		r = one->hidden ? make_directory(made, one, err)
				: copy_place(made->places, one, &walk, err);
	}
	return r;
}

/* --------------------------------------------------------------------- masks */

static void tell(void *arg, size_t node, const char *path, pid_t pid)
{
	const struct mountplan_made *made = arg;

	if (made->told)
		made->told(made->arg, made->entries[node], path, pid);
}

/* List the masks at a place and below it.  Returns the number of masks. */
static size_t list_masks(
	struct mountplan_made *made, struct mountplace *top, struct mountcover *cover)
{
	size_t n = 0;

	for (struct mountplace *one = top; one; one = mountplaces_next(one, top)) {
		if (!one->mounted || !is_mask(one))
			continue;
		mountcover_add(cover, &made->arena, one, arena_printf(&made->arena, "%zu", n++));
	}
	return n;
}

/*
 * Copy the mount of each mask from the attached file system of masks.  That file system is fs, or
 * 'tree', a file system in memory, if fs is NULL.
 */
static int copy_masks(struct mountplace *top, const struct mountcover *cover,
	const struct maskfs *fs, int tree, size_t *entries, struct err *err)
{
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	size_t node = 0;

	for (struct mountplace *one = top; one; one = mountplaces_next(one, top)) {
		if (!one->mounted || !is_mask(one))
			continue;
		while (strchr(cover->list[node].path, '/'))
			node++;
		entries[node] = one->entry;
		close_fd(&one->tree);
		one->tree = fs ? open_tree(maskfs_node(fs, node), "", flags | AT_EMPTY_PATH)
			       : open_tree(tree, cover->list[node].path, flags);
		node++;
		if (one->tree < 0)
			return err_errno(err, "mask '/%s'", one->path);
	}
	return 0;
}

/*
 * Attach the file system of the masks to MOUNTCOVER_DIR in the stage.  If fs is NULL, make a file
 * system in memory, and return its mount.  If fs is given, the result is -1 even on success.
 */
static int attach_masks(struct mountplan_made *made, struct maskfs *fs,
	const struct mountcover *cover, int stage, struct err *err)
{
	owned_fd int tree = fs ? -1 : mountcover_new_masks(cover, made->nobody, err);

	if (!fs && tree < 0)
		return tree;
	return mountcall_attach(fs ? maskfs_mount(fs) : tree, stage, MOUNTCOVER_DIR) < 0
		       ? err_errno(err, "mount the masks")
		       : take_fd(&tree);
}

/*
 * Make the masks at a place and below it.  If *device is -1, the masks are empty.  Otherwise the
 * function takes over the device, and tries to make masks that report accesses.
 */
static int make_masks(
	struct mountplan_made *made, struct mountplace *top, int *device, struct err *err)
{
	owned(mountcover_release) struct mountcover cover = { .n = 0 };
	struct maskfs *fs = NULL;

	if (!list_masks(made, top, &cover))
		return 0;
	size_t *entries = arena_alloc(&made->arena, cover.n * sizeof(*entries));
	owned_fd int stage = mountcover_new_stage(err);
	if (stage < 0)
		return stage;
	if (*device >= 0) {
		fs = maskfs_new(
			take_fd(device), cover.list, cover.n, tell, made, &made->unexplained);
		made->masks = fs;
		made->entries = entries;
	}
	struct err failed = { 0 };
	owned_fd int tree = attach_masks(made, fs, &cover, stage, &failed);
	if (failed.code || copy_masks(top, &cover, fs, tree, entries, &failed) < 0) {
		*err = failed;
		return -(int)err->code;
	}
	return mountcall_detach(stage) < 0 ? err_errno(err, "unmount the masks") : 0;
}

/* ----------------------------------------------------------------- attaching */

static int attach_place(struct mountplace *place, struct mountplaces_walk *walk, struct err *err)
{
	int dir = mountplaces_enter(walk, place->parent, err);

	if (dir < 0)
		return dir;
	if (mountcall_attach(place->tree, dir, place->name) < 0)
		return err_errno(err, "mount '/%s'", place->path);
	close_fd(&place->tree);
	return 0;
}

/*
 * Attach all mounts that were made below the place 'top'.  A directory comes before its entries, so
 * its mount is attached before the walk enters the directory.
 */
static int attach_below(struct mountplace *top, int root, struct err *err)
{
	owned(mountplaces_leave) struct mountplaces_walk walk = MOUNTPLACES_WALK(root);
	int r = 0;

	for (struct mountplace *one = top; one && r >= 0; one = mountplaces_next(one, top))
		if (one != top && one->tree >= 0)
			r = attach_place(one, &walk, err);
	return r;
}

/* Change to the new root.  Of the old root, only the holes remain visible. */
static int change_root(struct mountplace *root, struct err *err)
{
	if (mountcall_attach(root->tree, AT_FDCWD, "/") < 0)
		return err_errno(err, "mount the new root");
	if (attach_below(root, root->tree, err) < 0)
		return -(int)err->code;
	if (mountcall_restrict(root->tree, 0, MOUNT_ATTR_RDONLY) < 0)
		return err_errno(err, "make the new root read-only");
	int r = mountcall_become_root(root->tree, err);
	close_fd(&root->tree);
	return r;
}

static int restrict_all(struct mountplan_made *made, int root, struct err *err)
{
	struct mountplace *places = made->places;

	if (places->hidden)
		return change_root(places, err);
	if (restrict_tree(places, places, root, err) < 0 || attach_below(places, root, err) < 0)
		return -(int)err->code;
	return fchdir(root) < 0 ? err_errno(err, "go to '/'") : 0;
}

static int apply_here(struct mountplan_made *made, int *device, struct err *err)
{
	owned_fd int root = open_root(err);

	if (root < 0 || make_trees(made, made->places, root, err) < 0 ||
		make_masks(made, made->places, device, err) < 0 ||
		restrict_all(made, root, err) < 0)
		return -(int)err->code;
	if (made->masks)
		maskfs_settle(made->masks);
	return 0;
}

static int note_namespace(int self, int *out, struct err *err)
{
	*out = self < 0 ? -1 : namespaces_open(self, "ns/mnt", O_RDONLY, err);
	return self < 0 || *out >= 0 ? 0 : *out;
}

static int prepare(const struct mountplan *plan, struct mountplan_made *made, struct err *err)
{
	owned_fd int root = open_root(err);

	if (root < 0 || find_places(plan, root, made, err) < 0)
		return -(int)err->code;
	return mountstub_make(made, root, err);
}

static int prove(struct mountplan_made *made, struct err *err)
{
	owned_fd int root = open_root(err);

	return root < 0 ? root : mountproof_run(made->places, root, err);
}

int mountplan_apply(
	const struct mountplan *plan, int self, struct mountplan_made *out, struct err *err)
{
	owned_fd int device = plan->device;

	*out = MOUNTPLAN_MADE_INIT;
	out->private_bytes = plan->private_bytes;
	out->owner = plan->owner;
	out->nobody = plan->nobody;
	out->stub_locks = plan->stub_locks;
	out->told = plan->told;
	out->arg = plan->arg;
	if (prepare(plan, out, err) < 0 || note_namespace(self, &out->before, err) < 0 ||
		mounts_unshare(err) < 0 || note_namespace(self, &out->here, err) < 0 ||
		apply_here(out, &device, err) < 0)
		return -(int)err->code;
	return prove(out, err);
}

bool mountplan_forbids(const struct mountplan_made *made, const char *path, bool write)
{
	const struct mountplace *place = made->places, *next = place;
	struct str rest = str_of(path), name;

	while (next && (name = str_take_name(&rest)).len) {
		for (next = place->first; next && !str_eq(str_of(next->name), name);)
			next = next->next;
		place = next ? next : place;
	}
	return place->hidden || (write && place->read_only);
}

const char *mountplan_keeper(const struct mountplan_made *made, const char *path)
{
	struct mountplace *place = mountplaces_find(made->places, path);
	const struct mountplace *keeper = place ? mountplaces_keeper(place) : NULL;

	return keeper ? keeper->path : NULL;
}

void mountplan_remove_stubs(struct mountplan_made *made)
{
	/*
	 * Leave the mount namespace of the plan.  In that namespace, stubs are mount points, which
	 * cannot be removed.  If this process was the last one in the namespace, the namespace
	 * ends.  If the namespace went on, the kernel would unmount each removed stub there, and
	 * wait for all processors each time.
	 */
	if (made->before >= 0) {
		(void)setns(made->before, CLONE_NEWNS);
		close_fd(&made->here);
	}
	mountstub_remove_all(made);
}

void mountplan_release(struct mountplan_made *made)
{
	mountstub_close_all(made);
	for (struct mountplace *one = made->places; one; one = mountplaces_next(one, made->places))
		close_fd(&one->tree);
	maskfs_free(made->masks);
	close_fd(&made->before);
	close_fd(&made->here);
	arena_release(&made->arena);
	*made = MOUNTPLAN_MADE_INIT;
}

/* ------------------------------------------------------------- later changes */

/*
 * Put the mount of a place on top of a new mask.  Returns the mount of the mask.  This mount is the
 * only one that is not locked in the sandbox.
 */
static int stack_place(const struct mountplace *place, struct err *err)
{
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	bool is_dir = S_ISDIR(place->type);
	owned_fd int stage = mountcover_new_stage(err);

	if (stage < 0)
		return stage;
	owned_fd int under = open_tree(stage, is_dir ? MOUNTCOVER_DIR : MOUNTCOVER_FILE, flags);
	if (under < 0 || mountcall_restrict(under, 0, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA) < 0 ||
		mountcall_attach(
			under, stage, is_dir ? MOUNTCOVER_UNDER_DIR : MOUNTCOVER_UNDER_FILE) < 0 ||
		move_mount(place->tree, "", under, "",
			MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_errno(err, "change '/%s'", place->path);
	return take_fd(&under);
}

/* Attach the mounts of the places below 'top' to the mount of 'top', which is attached already. */
static int attach_within(struct mountplace *top, struct err *err)
{
	size_t start = strlen(top->path) + (*top->path != '\0');

	for (struct mountplace *one = top->first ? mountplaces_next(top, top) : NULL; one;
		one = mountplaces_next(one, top)) {
		const char *path = one->parent == top ? "." : one->parent->path + start;
		owned_fd int dir = -1;

		if (one->tree < 0)
			continue;
		dir = at_open(top->tree, path, O_PATH | O_DIRECTORY, err);
		if (dir < 0)
			return dir;
		if (mountcall_attach(one->tree, dir, one->name) < 0)
			return err_errno(err, "mount '/%s'", one->path);
		close_fd(&one->tree);
	}
	return 0;
}

/*
 * Make the mounts of a place and of all places below it, in a new copy of the mount namespace of
 * this process.  The process must be in the namespace without the plan, and is in the copy
 * afterwards.  Returns the tree of the new mounts.
 */
static int rebuild(struct mountplan_made *made, struct mountplace *top, struct err *err)
{
	int no_device = -1;

	if (mounts_unshare(err) < 0)
		return -(int)err->code;
	owned_fd int root = open_root(err);
	if (root < 0 || make_trees(made, top, root, err) < 0 ||
		make_masks(made, top, &no_device, err) < 0)
		return -(int)err->code;
	owned_fd int under = stack_place(top, err);
	if (under < 0 || attach_within(top, err) < 0)
		return -(int)err->code;
	close_fd(&top->tree);
	int tree = open_tree(
		under, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	return tree < 0 ? err_errno(err, "copy the mounts of '/%s'", top->path) : tree;
}

static struct mountplace *find_changed(
	struct mountplan_made *made, const char *path, unsigned later, struct err *err)
{
	owned_fd int root = open_root(err);
	struct mountplace *place;

	if (root < 0 ||
		mountplaces_add(made->places, &made->arena, root, path, later, &place, err) < 0)
		return NULL;
	if (!place->type || !place->parent || mountplaces_bits(place) & STUBS)
		err_set(err, ERR_NOT_FOUND, "no file '%s' to change", path);
	else if (strcmp(place->path, path + 1) != 0)
		err_set(err, ERR_INVALID, "'%s' leads through a symbolic link, to '/%s'", path,
			place->path);
	return err->code ? NULL : place;
}

/*
 * Whether a mount can be attached to a place.  The directory that contains the place must be
 * visible, or must keep the name of the place.
 */
static bool is_within_reach(const struct mountplace *place)
{
	return !place->parent->hidden ||
	       (place->planned & BIT(LATER) && mountplaces_in_root(place));
}

/*
 * Decide anew how places are mounted, after a change of 'place'.  Returns the topmost place of the
 * mounts that have to be made anew, or NULL on error.
 */
static struct mountplace *decide_anew(
	struct mountplan_made *made, struct mountplace *place, struct err *err)
{
	const char *path = place->path;

	mountplaces_decide(made->places);
	while (place->parent && !is_within_reach(place))
		place = place->parent;
	if (!place->parent) {
		err_set(err, ERR_DENIED, "'/%s' was not planned to be shown later", path);
		return NULL;
	}
	place->mounted = true;
	return place;
}

/*
 * Serve the masks until a child has written its errno to the pipe.  Returns that errno.  If the
 * child was killed, returns EINTR.
 */
static int serve_until_told(struct maskfs *masks, int pipe)
{
	struct pollfd ready[] = { { maskfs_fd(masks), POLLIN, 0 }, { pipe, POLLIN, 0 } };
	int told;

	while (!ready[1].revents) {
		if (poll(ready, 2, -1) < 0)
			ready[1].revents = 0; /* a signal has come */
		else if (ready[0].revents && maskfs_serve(masks) < 0)
			ready[0].fd = -1;
	}
	return read(pipe, &told, sizeof(told)) == (ssize_t)sizeof(told) ? told : EINTR;
}

/*
 * Attach a mount to a name that may lie in a mask.  The kernel then waits for programs that are
 * looking up a name in the mask.  These programs wait for an answer of this process.  So a child
 * makes the call, and this process serves the mask meanwhile.
 */
static int attach_on_mask(
	struct mountplan_made *made, int tree, int dir, const char *name, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	pid_t pid = child_fork();
	if (pid == 0) {
		int told = mountcall_attach(tree, dir, name) < 0 ? errno : 0;

		(void)!write(ends[1], &told, sizeof(told));
		_exit(0);
	}
	close_fd(&ends[1]);
	int told = pid < 0 ? errno : serve_until_told(made->masks, ends[0]);
	close_fd(&ends[0]);
	if (pid > 0)
		(void)child_wait(pid);
	return told ? err_number(err, told, "mount '%s'", name) : 0;
}

static int attach_changed(
	struct mountplan_made *made, const struct mountplace *place, int tree, struct err *err)
{
	owned_fd int root = open_root(err);
	owned_fd int dir = root < 0 ? root : mountplaces_open(root, place->parent, err);

	if (dir < 0)
		return dir;
	if (made->masks)
		return attach_on_mask(made, tree, dir, place->name, err);
	return mountcall_attach(tree, dir, place->name) < 0
		       ? err_errno(err, "mount '/%s'", place->path)
		       : 0;
}

static int go_to(int mnt, struct err *err)
{
	return setns(mnt, CLONE_NEWNS) < 0 ? err_errno(err, "join a mount namespace") : 0;
}

static int change_place(
	struct mountplan_made *made, struct mountplace *place, unsigned later, struct err *err)
{
	unsigned earlier = place->later;

	place->later = later;
	struct mountplace *top = decide_anew(made, place, err);
	owned_fd int tree = top ? rebuild(made, top, err) : -1;
	if (tree >= 0 && go_to(made->here, err) == 0 && attach_changed(made, top, tree, err) == 0)
		return 0;
	place->later = earlier;
	mountplaces_decide(made->places);
	return -(int)err->code;
}

static int change(struct mountplan_made *made, const char *path, unsigned later, struct err *err)
{
	struct err lost = { 0 };

	if (go_to(made->before, err) < 0)
		return -(int)err->code;
	struct mountplace *place = find_changed(made, path, later, err);
	int r = place ? change_place(made, place, later, err) : -(int)err->code;
	/*
	 * Return to the mount namespace of the plan, even after a failure.  If this process is
	 * already there, the call does nothing.
	 */
	if (go_to(made->here, &lost) < 0)
		*err = lost;
	return lost.code ? -(int)err->code : r;
}

int mountplan_hide(struct mountplan_made *made, const char *path, struct err *err)
{
	return change(made, path, BIT(MASK), err);
}

int mountplan_show(struct mountplan_made *made, const char *path, bool writable, struct err *err)
{
	return change(made, path, BIT(SHOW) | (writable ? BIT(WRITABLE) : BIT(READ_ONLY)), err);
}

int mountplan_unhide(struct mountplan_made *made, const char *path, struct err *err)
{
	return change(made, path, 0, err);
}
