/*
 * plain - the backends copy and reflink, whose live tree is a plain directory.  Changes are found
 * by a parallel walk that compares the result of stat for each file with the index.
 *
 * The backends differ only when a live tree is created from files on the same file system.  In that
 * case reflink clones the contents of these files, and copy does not.
 */
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/at.h"
#include "core/own.h"
#include "workspace/indexed.h"
#include "workspace/livedir.h"

static int probe_copy(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	return 1;
}

/*
 * Find out whether files can be cloned here, by cloning a file of one block.  An attempt is needed,
 * since some file systems claim to clone files but cannot.
 */
static int probe_reflink(int rootfd, char why[WORKSPACE_WHY_MAX])
{
	char block[4096] = "strata";
	struct err err = { 0 };
	owned_fd int a = at_tmpfile(rootfd, &err);
	owned_fd int b = a < 0 ? -1 : at_tmpfile(rootfd, &err);

	if (b < 0 || at_write_all(a, block, sizeof(block)) < 0) {
		snprintf(why, WORKSPACE_WHY_MAX, "cannot make a temporary file");
		return 0;
	}
	if (ioctl(b, FICLONE, a) == 0)
		return 1;
	snprintf(why, WORKSPACE_WHY_MAX, "this file system cannot clone files (%s)",
		errno == EOPNOTSUPP || errno == ENOTTY ? "no FICLONE" : strerror(errno));
	return 0;
}

static int make_dir(int dirfd, const char *name, struct err *err)
{
	return at_mkdirs(dirfd, name, 0700, err);
}

static int open_plain(struct workspace *ws, struct err *err)
{
	return livedir_open(ws, make_dir, err);
}

static int capture_plain(struct workspace *ws, struct hash *tree, struct err *err)
{
	return indexed_capture(ws, &(struct indexed_options){ 0 }, tree, err);
}

static int write_tree(struct workspace *ws, const struct hash *from, const struct hash *to,
	int donor, struct hash *now, struct err *err)
{
	owned(applied_release) struct applied applied = APPLIED_INIT;
	struct indexed_options options = { .adopt = to, .applied = &applied };
	int r = livedir_apply(ws, from, to, donor, &applied, err);

	if (r >= 0)
		r = indexed_capture(ws, &options, now, err);
	if (r >= 0)
		r = store_flush(ws->setup.store, err);
	return r < 0 ? r : indexed_save(ws, err);
}

static int apply_plain(struct workspace *ws, const struct hash *from, const struct hash *to,
	struct hash *now, struct err *err)
{
	return write_tree(ws, from, to, -1, now, err);
}

static int create_reflink(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	struct hash now;

	if (ws->setup.path)
		return workspace_open(ws, err);
	owned_fd int work = livedir_work(ws, err);
	int r = work < 0 ? work : make_dir(work, ws->setup.name, err);
	if (r >= 0)
		r = workspace_open(ws, err);
	return r < 0 ? r : write_tree(ws, NULL, tree, donor, &now, err);
}

static int create_copy(struct workspace *ws, const struct hash *tree, int donor, struct err *err)
{
	return create_reflink(ws, tree, -1, err);
}

static int destroy_plain(struct workspace *ws, struct err *err)
{
	return livedir_destroy(ws, at_remove_tree, err);
}

const struct workspace_backend workspace_copy = {
	.kind = { .name = "copy", .in_place = WORKSPACE_LIVE },
	.probe = probe_copy,
	.create = create_copy,
	.open = open_plain,
	.capture = capture_plain,
	.save_index = indexed_save,
	.apply = apply_plain,
	.destroy = destroy_plain,
	.close = indexed_close,
};

const struct workspace_backend workspace_reflink = {
	.kind = { .name = "reflink", .in_place = WORKSPACE_LIVE },
	.probe = probe_reflink,
	.create = create_reflink,
	.open = open_plain,
	.capture = capture_plain,
	.save_index = indexed_save,
	.apply = apply_plain,
	.destroy = destroy_plain,
	.close = indexed_close,
};
