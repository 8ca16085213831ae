/*
 * The calling thread walks both trees and does everything that touches directories.  Threads write
 * the content of plain files.  The attributes of a directory are set when the last job in it has
 * ended, because each new name in the directory changes its mtime.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/fsids.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/treeapply_priv.h"
#include "tree/treediff.h"
#include "tree/treepair.h"

#define MOUNTED "left alone: another file system is mounted there"

static int apply_dir(struct treeapply *apply, struct treeapply_dir *dir, const struct entry *from,
	const struct entry *to, struct err *err);

void treeapply_report(struct treeapply_dir *dir, const char *name, enum report_kind kind,
	const char *what, int error)
{
	owned(buf_release) struct buf path = BUF_INIT;

	buf_add(&path, dir->path.ptr, dir->path.len);
	buf_add_name(&path, str_of(name));
	report_add(dir->apply->report, kind, (struct str){ path.data, path.len }, "%s%s%s", what,
		error ? ": " : "", error ? strerror(error) : "");
}

/*
 * Whether an error ends the run.  A full or broken disk ends the run, but an attribute that this
 * machine cannot set does not.
 */
static bool is_fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EROFS ||
	       error == ENOMEM || error == EMFILE || error == ENFILE;
}

int treeapply_failed(
	struct treeapply_dir *dir, const char *name, const char *what, int error, struct err *err)
{
	if (is_fatal(error))
		return err_number(err, error, "%s '%s'", what, name);
	treeapply_report(dir, name, REPORT_UNRESTORED, what, error);
	return 0;
}

/* ------------------------------------------------------------- directories */

void treeapply_note_error(struct treeapply *apply, const struct err *err)
{
	pthread_mutex_lock(&apply->lock);
	if (!apply->err.code)
		apply->err = *err;
	pthread_mutex_unlock(&apply->lock);
	atomic_store(&apply->failed, true);
}

static void finish_dir(struct treeapply_dir *dir)
{
	struct treeapply_change changed = { 0 };
	struct err err = { 0 };
	struct statx now;

	if (treeattrs_set(dir, dir->fd, ".", "", &dir->want, &changed, &err) < 0)
		treeapply_note_error(dir->apply, &err);
	else if (at_fd_stat(dir->fd, &now) == 0)
		treeattrs_note(dir, &now, &changed, true);
}

void treeapply_dir_done(struct treeapply_dir *dir)
{
	if (atomic_fetch_sub(&dir->refs, 1) != 1)
		return;
	if (atomic_load(&dir->touched) && !atomic_load(&dir->apply->failed))
		finish_dir(dir);
	if (dir->apply->options->durable && atomic_load(&dir->touched) &&
		atomic_load(&dir->apply->written) <= TREEAPPLY_SYNC_EACH_MAX)
		(void)fsync(dir->fd);
	close_fd(&dir->fd);
	free(dir);
}

static struct treeapply_dir *dir_new_take(struct treeapply *apply, int fd, const struct entry *want)
{
	struct treeapply_dir *dir = mem_zalloc(sizeof(*dir) + apply->path.len + 1);

	dir->apply = apply;
	dir->fd = fd;
	atomic_init(&dir->refs, 1);
	dir->want = *want;
	dir->want.name = dir->want.target = (struct str){ "", 0 };
	memcpy(dir + 1, apply->path.data ? apply->path.data : "", apply->path.len);
	dir->path = (struct str){ (char *)(dir + 1), apply->path.len };
	return dir;
}

/*
 * Open a directory.  If permission is missing, the directory gets mode 0700 first.  Returns a file
 * descriptor or -errno.
 */
static int open_dir(struct treeapply_dir *dir, const char *name)
{
	int fd = at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	if (fd == -EACCES && at_name_chmod(dir->fd, name, 0700) == 0)
		fd = at_name_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	return fd;
}

/* Record that a name in dir is going to change. */
static void mark_touched(struct treeapply_dir *dir)
{
	struct statx stx;

	if (atomic_exchange(&dir->touched, true))
		return;
	/* If the directory belongs to this user, make it writable until its attributes are set. */
	if (geteuid() && at_fd_stat(dir->fd, &stx) == 0 && (stx.stx_mode & 0300) != 0300)
		(void)fchmod(dir->fd, (stx.stx_mode & 07777) | 0700);
}

/* ------------------------------------------------------------------ removal */

/*
 * Whether another file system is mounted over this name.  Such a file system is not part of the
 * tree, and is reported.
 */
static bool is_covered(struct treeapply_dir *dir, const char *name)
{
	struct statx stx;

	if (at_name_stat(dir->fd, name, &stx) < 0 || stx.stx_mnt_id == dir->apply->mnt_id)
		return false;
	treeapply_report(dir, name, REPORT_UNRESTORED, MOUNTED, 0);
	return true;
}

static int remove_entry(
	struct treeapply_dir *dir, const char *name, const struct entry *entry, struct err *err);

static int remove_children(struct treeapply_dir *dir, const struct entry *entry, struct err *err)
{
	owned(treeiter_freep) struct treeiter *iter = treeiter_new(dir->apply->store);
	char name[ENTRY_NAME_MAX + 1];
	struct entry child;
	int r = treeiter_open(iter, entry, err);

	while (r >= 0 && (r = treeiter_next(iter, &child, err)) > 0) {
		memcpy(name, child.name.ptr, child.name.len);
		name[child.name.len] = '\0';
		r = remove_entry(dir, name, &child, err);
	}
	return r < 0 ? r : 0;
}

static int remove_dir(
	struct treeapply_dir *dir, const char *name, const struct entry *entry, struct err *err)
{
	struct treeapply *apply = dir->apply;
	size_t len = apply->path.len;
	struct statx was;
	int r = at_name_stat(dir->fd, name, &was);
	int fd = r < 0 ? r : open_dir(dir, name);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return treeapply_failed(dir, name, "open", -fd, err);
	buf_add_name(&apply->path, str_of(name));
	struct treeapply_dir *below = dir_new_take(apply, fd, entry);
	mark_touched(below);
	r = remove_children(below, entry, err);
	/* The directory is removed next, so its attributes need not be set. */
	atomic_store(&below->touched, false);
	treeapply_dir_done(below);
	buf_truncate(&apply->path, len);
	if (r >= 0 && unlinkat(dir->fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT) {
		if (errno == ENOTEMPTY || errno == EEXIST) {
			/* The directory stays, so undo the chmod of open_dir. */
			(void)at_name_chmod(dir->fd, name, was.stx_mode & 07777);
			treeapply_report(dir, name, REPORT_UNRESTORED,
				"kept: it holds files that are not in the history", 0);
		} else
			r = treeapply_failed(dir, name, "remove directory", errno, err);
	}
	return r;
}

/* Make a whiteout: in a layer, it marks a name of the tree below as deleted. */
static int make_whiteout(struct treeapply_dir *dir, const char *name, struct err *err)
{
	if (mknodat(dir->fd, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, "hide '%s'", name);
	return 0;
}

static int remove_entry(
	struct treeapply_dir *dir, const char *name, const struct entry *entry, struct err *err)
{
	mark_touched(dir);
	if (dir->apply->progress)
		atomic_fetch_add(&dir->apply->progress->entries, 1);
	if (treeapply_in_layer(dir))
		return make_whiteout(dir, name, err);
	if (is_covered(dir, name))
		return 0;
	if (!treeput_still_same(dir->fd, name, entry)) {
		treeapply_report(dir, name, REPORT_UNRESTORED, TREEAPPLY_KEPT, 0);
		return 0;
	}
	if (entry->type == ENTRY_DIR)
		return remove_dir(dir, name, entry, err);
	if (unlinkat(dir->fd, name, 0) < 0 && errno != ENOENT)
		return treeapply_failed(dir, name, "remove", errno, err);
	return 0;
}

/* ------------------------------------------------------------------ entries */

/*
 * Whether fd is the environment.  The tree may come from another machine and have a directory at
 * the path of the environment.
 */
static bool is_environment(const struct treeapply *apply, int fd)
{
	const struct scan_skip *skip = apply->options->skip;
	struct statx stx;

	return skip && at_fd_stat(fd, &stx) == 0 && stx.stx_ino == skip->ino &&
	       stx.stx_dev_major == skip->dev_major && stx.stx_dev_minor == skip->dev_minor;
}

static int make_dir(struct treeapply_dir *dir, const char *name, const struct entry *entry,
	const struct entry *from, struct err *err)
{
	struct treeapply *apply = dir->apply;
	size_t len = apply->path.len;

	if ((!from || treeapply_in_layer(dir)) && mkdirat(dir->fd, name, 0700) < 0 &&
		errno != EEXIST)
		return treeapply_failed(dir, name, "create directory", errno, err);
	int fd = open_dir(dir, name);
	if (fd < 0)
		return treeapply_failed(dir, name, "open", -fd, err);
	if (!from && !treeapply_in_layer(dir) && is_covered(dir, name)) {
		close(fd);
		return 0;
	}
	if (is_environment(apply, fd)) {
		close(fd);
		treeapply_report(
			dir, name, REPORT_UNRESTORED, "the environment itself is there", 0);
		return 0;
	}
	buf_add_name(&apply->path, str_of(name));
	struct treeapply_dir *below = dir_new_take(apply, fd, entry);
	if (!from || treeapply_in_layer(dir) || treediff_compare(from, entry))
		mark_touched(below);
	int r = apply_dir(apply, below, from, entry, err);
	treeapply_dir_done(below);
	buf_truncate(&apply->path, len);
	if (apply->progress)
		atomic_fetch_add(&apply->progress->entries, 1);
	return r;
}

/*
 * Make the entry 'to' under this name.  'from' is the entry that has the name now and may be
 * replaced, or NULL.
 */
static int make_entry(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *to, struct err *err)
{
	mark_touched(dir);
	if (to->content == ENTRY_UNREAD) {
		treeapply_report(dir, name, REPORT_UNRESTORED,
			"its content could not be read when it was captured", 0);
		/*
		 * An existing file stays, since the content of another moment is better than no
		 * content.
		 */
		if (from)
			return 0;
	}
	if (to->type == ENTRY_DIR)
		return make_dir(dir, name, to, NULL, err);
	if (to->link) {
		int r = treeput_link(dir, name, from, to, err);

		if (r != 0)
			return r < 0 ? r : 0;
		/*
		 * Other names are going to be linked to this one, so this file is written at once
		 * and not by a thread.
		 */
		r = to->type == ENTRY_FILE
			    ? treeput_file(dir, name, from, to, dir->apply->temp++, err)
			    : treeput_small(dir, name, from, to, err);
		if (r > 0)
			treeput_anchor(dir->apply, to->link, dir->path, name);
		return r < 0 ? r : 0;
	}
	if (to->type == ENTRY_FILE) {
		treeput_file_later(dir, name, from, to);
		return 0;
	}
	int r = treeput_small(dir, name, from, to, err);
	return r < 0 ? r : 0;
}

static int change_attributes(
	struct treeapply_dir *dir, const char *name, const struct entry *to, struct err *err)
{
	struct treeapply_change changed = { 0 };
	struct statx now;
	int r = treeattrs_set(dir, dir->fd, name, name, to, &changed, err);

	if (r >= 0 && at_name_stat(dir->fd, name, &now) == 0)
		treeattrs_note(dir, &now, &changed, false);
	return r;
}

static int change_entry(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *to, struct err *err)
{
	int r;

	if (!treeapply_in_layer(dir) && is_covered(dir, name))
		return 0;
	if (from->type == ENTRY_DIR && to->type == ENTRY_DIR) {
		/* A directory that is unread in one of the trees must not be emptied. */
		if (from->content == ENTRY_UNREAD || to->content == ENTRY_UNREAD) {
			treeapply_report(dir, name, REPORT_UNRESTORED,
				"left as it is: its entries could not be read when it was captured",
				0);
			return 0;
		}
		return make_dir(dir, name, to, from, err);
	}
	if (treeapply_in_layer(dir))
		return to->content == ENTRY_UNREAD ? 0 : make_entry(dir, name, NULL, to, err);
	if (from->type != to->type) {
		r = remove_entry(dir, name, from, err);
		return r < 0 ? r : make_entry(dir, name, NULL, to, err);
	}
	bool attributes = entry_same_content(from, to) && from->link == to->link &&
			  to->content != ENTRY_UNREAD;
	/*
	 * The attributes of a hard-linked file may already be set, through another name of the
	 * file.
	 */
	if (!treeput_still_same(dir->fd, name, from) &&
		!(attributes && to->link && treeput_still_same(dir->fd, name, to))) {
		treeapply_report(dir, name, REPORT_UNRESTORED, TREEAPPLY_KEPT, 0);
		return 0;
	}
	if (attributes) {
		if (dir->apply->progress)
			atomic_fetch_add(&dir->apply->progress->entries, 1);
		return change_attributes(dir, name, to, err);
	}
	return make_entry(dir, name, from, to, err);
}

static int apply_dir(struct treeapply *apply, struct treeapply_dir *dir, const struct entry *from,
	const struct entry *to, struct err *err)
{
	owned(treepair_freep) struct treepair *pair = treepair_new(apply->store);
	char name[ENTRY_NAME_MAX + 1];
	const struct entry *a, *b;
	int r = treepair_open(pair, from, to, err);

	while (r >= 0 && (r = treepair_next(pair, &a, &b, err)) > 0) {
		struct str text = a ? a->name : b->name;

		memcpy(name, text.ptr, text.len);
		name[text.len] = '\0';
		if (!b)
			r = remove_entry(dir, name, a, err);
		else if (!a)
			r = make_entry(dir, name, NULL, b, err);
		else
			r = change_entry(dir, name, a, b, err);
		if (atomic_load(&apply->failed))
			break;
	}
	return r < 0 ? r : 0;
}

/* --------------------------------------------------------------------- all */

static int apply_roots(struct treeapply *apply, struct err *err)
{
	const struct treeapply_options *options = apply->options;
	struct entry from, to;
	int r = treeiter_top(apply->store, options->to, &to, err);

	if (r >= 0 && options->from)
		r = treeiter_top(apply->store, options->from, &from, err);
	if (r < 0)
		return r;
	int fd = fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(err, "open the live tree");
	struct statx stx;
	r = at_fd_stat(fd, &stx);
	if (r < 0) {
		close_fd(&fd);
		return err_number(err, -r, "look at the live tree");
	}
	apply->mnt_id = stx.stx_mnt_id;
	struct treeapply_dir *root = dir_new_take(apply, fd, &to);
	if (!options->from || options->kind == TREEAPPLY_LAYER || treediff_compare(&from, &to))
		mark_touched(root);
	r = apply_dir(apply, root, options->from ? &from : NULL, &to, err);
	treeapply_dir_done(root);
	return r;
}

static int apply_all(const struct treeapply_options *options, struct err *err)
{
	struct treeapply apply = {
		.options = options,
		.store = options->store,
		.report = options->report,
		.progress = options->progress,
		.path = BUF_INIT,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};

	if (options->kind != TREEAPPLY_LAYER && options->from &&
		hash_eq(options->from, options->to))
		return 0;
	apply.par = par_new(par_cpus());
	store_reading_begin(options->store);
	int r = apply_roots(&apply, err);
	par_free(apply.par);
	store_reading_end(options->store);
	if (r >= 0 && apply.err.code) {
		*err = apply.err;
		r = -(int)err->code;
	}
	if (r >= 0 && options->durable && apply.written > TREEAPPLY_SYNC_EACH_MAX &&
		syncfs(options->fd) < 0)
		r = err_errno(err, "sync the live tree");
	for (size_t i = 0; i < apply.cap_anchors; i++) {
		free(apply.anchors[i].dir);
		free(apply.anchors[i].name);
	}
	free(apply.anchors);
	buf_release(&apply.path);
	return r;
}

int treeapply_run(const struct treeapply_options *options, struct err *err)
{
	struct err lost = { 0 };
	struct fsids before;

	if (!options->shift)
		return apply_all(options, err);
	int r = fsids_take(options->shift, options->shift, &before, err);
	if (r < 0)
		return r;
	r = apply_all(options, err);
	if (fsids_give_back(&before, &lost) < 0 && r >= 0) {
		*err = lost;
		return -(int)err->code;
	}
	return r;
}
