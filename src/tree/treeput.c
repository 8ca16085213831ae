/* treeput - makes one file, link or special file and puts it in its place. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/place.h"
#include "tree/content.h"
#include "tree/treeapply_priv.h"

#define TEMP_PREFIX ".strata-tmp-"

/* A file to be written by a thread. */
struct job {
	struct treeapply_dir *dir;
	struct entry entry;
	/* if 'replace' is set: the captured entry that is replaced, without strings */
	struct entry from;
	bool replace; /* an entry is replaced */
	unsigned temp;
	char name[ENTRY_NAME_MAX + 1];
};

bool treeput_still_same(int dirfd, const char *name, const struct entry *entry)
{
	struct statx stx;

	if (at_name_stat(dirfd, name, &stx) < 0)
		return true; /* the file is gone, so there is nothing to lose */
	enum entry_type type = entry_type_of(stx.stx_mode);
	bool stand_in = entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK ||
			entry->content == ENTRY_UNREAD;
	/*
	 * An empty file may stand in for a device that could not be made, or for unread content.
	 * Removing a stand-in loses nothing.
	 */
	if (type == ENTRY_FILE && stand_in)
		return !stx.stx_size;
	if (type != entry->type)
		return false;
	if (type == ENTRY_FILE && stx.stx_size != entry->size)
		return false;
	if (type != ENTRY_FILE && type != ENTRY_LINK)
		return true;
	return stx.stx_mtime.tv_sec == entry->mtime_sec &&
	       stx.stx_mtime.tv_nsec == entry->mtime_nsec;
}

static void temp_name(char out[64], unsigned number)
{
	snprintf(out, 64, TEMP_PREFIX "%d-%u", (int)getpid(), number);
}

/*
 * Clone the content of a file from the donor.  Returns false if the donor does not have the
 * captured file, so that the content must come from the store.
 */
static bool clone_content(
	struct treeapply_dir *dir, const char *name, const struct entry *entry, int fd)
{
	struct err ignored = { 0 };
	struct statx stx;
	owned(buf_release) struct buf path = BUF_INIT;

	if (dir->apply->options->donor < 0 || !entry->size)
		return false;
	buf_add(&path, dir->path.ptr, dir->path.len);
	buf_add_name(&path, str_of(name));
	owned_fd int donor = at_open(dir->apply->options->donor, path.data,
		O_RDONLY | O_NONBLOCK | O_NOFOLLOW, &ignored);
	if (donor < 0 || at_fd_stat(donor, &stx) < 0 || !S_ISREG(stx.stx_mode) ||
		stx.stx_size != entry->size || stx.stx_mtime.tv_sec != entry->mtime_sec ||
		stx.stx_mtime.tv_nsec != entry->mtime_nsec)
		return false;
	return ioctl(fd, FICLONE, donor) == 0;
}

/*
 * Create an empty file.  The file gets its final mode at once, as far as the umask allows, which
 * usually saves a chmod.  Returns a descriptor or -errno.
 */
static int create_file(int dirfd, const char *name, uint32_t mode)
{
	struct err err = { 0 };
	int fd = at_create(dirfd, name, O_WRONLY | O_EXCL | O_NOFOLLOW, mode & 0777, &err);

	if (fd < 0)
		return err.errno_value ? -err.errno_value : -EIO;
	return fd;
}

/*
 * Report that a file is kept.  The file is newer than the capture, so the store has no copy of it.
 */
static int report_kept(struct treeapply_dir *dir, const char *name)
{
	treeapply_report(dir, name, REPORT_UNRESTORED, TREEAPPLY_KEPT, 0);
	return 0;
}

static bool is_captured(void *arg, int dirfd, const char *name)
{
	return treeput_still_same(dirfd, name, arg);
}

/*
 * Rename a temporary file to its final name.  'from' is the captured entry that may be replaced, or
 * NULL.  Returns 1, or 0 if another file has that name and stays, or a negative error.
 */
static int move_into_place(struct treeapply_dir *dir, const char *temporary, const char *name,
	const struct entry *from, struct err *err)
{
	struct place place = {
		.dirfd = dir->fd,
		.temporary = temporary,
		.name = name,
		.is_old = from ? is_captured : NULL,
		.arg = (void *)from,
	};
	int r = place_rename(&place);

	if (r < 0)
		return treeapply_failed(dir, name, place.failed, -r, err);
	return r ? 1 : report_kept(dir, name);
}

int treeput_file(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, unsigned temp, struct err *err)
{
	struct treeapply *apply = dir->apply;
	struct treeapply_change changed = { 0 };
	char temporary[64];
	struct statx now;
	int r = 0;

	temp_name(temporary, temp);
	const char *made = from ? temporary : name;
	if (from)
		(void)unlinkat(dir->fd, temporary, 0); /* a killed run may have left such a file */
	owned_fd int fd = create_file(dir->fd, made, entry->mode);
	if (fd == -EEXIST && !from)
		return report_kept(dir, name);
	if (fd < 0)
		return treeapply_failed(dir, name, "create", -fd, err);
	if (entry->content != ENTRY_UNREAD && !clone_content(dir, name, entry, fd))
		r = content_write(apply->store, entry, fd, err);
	if (r < 0 && err->code == ERR_CORRUPT) {
		treeapply_report(dir, name, REPORT_DAMAGED, err->text, 0);
		(void)unlinkat(dir->fd, made, 0);
		return 0;
	}
	if (r >= 0)
		r = treeattrs_set(dir, dir->fd, made, name, entry, &changed, err);
	uint64_t written = atomic_fetch_add(&apply->written, 1) + 1;
	if (r >= 0 && apply->options->durable && written <= TREEAPPLY_SYNC_EACH_MAX &&
		fsync(fd) < 0)
		r = err_errno(err, "sync '%s'", name);
	if (r < 0)
		(void)unlinkat(dir->fd, made, 0);
	else
		r = from ? move_into_place(dir, made, name, from, err) : 1;
	if (r > 0 && at_fd_stat(fd, &now) == 0)
		treeattrs_note(dir, &now, &changed, true);
	if (apply->progress) {
		atomic_fetch_add(&apply->progress->entries, 1);
		atomic_fetch_add(&apply->progress->bytes, entry->size);
	}
	return r;
}

static void write_file_job(void *arg)
{
	struct job *job = arg;
	struct err err = { 0 };

	if (!atomic_load(&job->dir->apply->failed) &&
		treeput_file(job->dir, job->name, job->replace ? &job->from : NULL, &job->entry,
			job->temp, &err) < 0)
		treeapply_note_error(job->dir->apply, &err);
	treeapply_dir_done(job->dir);
	free(job);
}

void treeput_file_later(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry)
{
	struct job *job = mem_zalloc(sizeof(*job));

	job->dir = dir;
	job->entry = *entry;
	job->entry.name = job->entry.target = (struct str){ "", 0 };
	job->replace = from != NULL;
	if (from)
		job->from = *from;
	job->from.name = job->from.target = (struct str){ "", 0 };
	job->temp = dir->apply->temp++;
	snprintf(job->name, sizeof(job->name), "%s", name);
	atomic_fetch_add(&dir->refs, 1);
	par_submit(dir->apply->par, write_file_job, job);
}

/*
 * Make a special file.  A device that this user may not make is replaced by an empty file
 * (windex_override).
 */
static int make_special(
	struct treeapply_dir *dir, const char *name, const struct entry *entry, unsigned *lacks)
{
	mode_t mode = entry_type_mode(entry->type) | 0600;
	dev_t dev = makedev(entry->major, entry->minor);

	if (mknodat(dir->fd, name, mode, dev) == 0)
		return 0;
	if (errno != EPERM || (entry->type != ENTRY_CHAR && entry->type != ENTRY_BLOCK))
		return -errno;
	int fd = create_file(dir->fd, name, entry->mode);
	if (fd < 0)
		return fd;
	close(fd);
	treeapply_report(
		dir, name, REPORT_LOGICAL, "device node, an empty file stands in for it", EPERM);
	*lacks |= APPLIED_NO_TYPE;
	return 0;
}

/*
 * Report a character device 0:0 in an overlay.  Overlayfs takes such a device for a whiteout, so
 * programs do not see it.
 */
static void report_whiteout_device(
	struct treeapply_dir *dir, const char *name, const struct entry *entry)
{
	if (dir->apply->options->kind != TREEAPPLY_LIVE && entry->type == ENTRY_CHAR &&
		!entry->major && !entry->minor)
		treeapply_report(dir, name, REPORT_UNRESTORED,
			"a character device 0:0, which an overlay takes for a deleted file; it is "
			"kept in the history",
			0);
}

int treeput_small(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err)
{
	struct treeapply_change changed = { 0 };
	char temporary[64];
	struct statx now = { 0 };
	int r = 0;

	temp_name(temporary, dir->apply->temp++);
	(void)unlinkat(dir->fd, temporary, 0);
	if (entry->type == ENTRY_LINK) {
		owned_mem char *target = mem_dup(entry->target.ptr, entry->target.len);

		if (symlinkat(target, dir->fd, temporary) < 0)
			r = -errno;
	} else {
		report_whiteout_device(dir, name, entry);
		r = make_special(dir, temporary, entry, &changed.lacks);
	}
	if (r < 0)
		return treeapply_failed(dir, name, "create", -r, err);
	r = treeattrs_set(dir, dir->fd, temporary, name, entry, &changed, err);
	(void)at_name_stat(dir->fd, temporary, &now);
	if (r < 0)
		(void)unlinkat(dir->fd, temporary, 0);
	else
		r = move_into_place(dir, temporary, name, from, err);
	if (r > 0)
		treeattrs_note_name(dir, name, now.stx_ino, &changed, true);
	if (dir->apply->progress)
		atomic_fetch_add(&dir->apply->progress->entries, 1);
	return r;
}

/* --------------------------------------------------------------- hard links */

static struct treeput_anchor *anchor_slot(struct treeapply *apply, uint64_t group)
{
	size_t mask = apply->cap_anchors - 1;
	size_t i = group & mask;

	while (apply->anchors[i].group && apply->anchors[i].group != group)
		i = (i + 1) & mask;
	return &apply->anchors[i];
}

void treeput_anchor(struct treeapply *apply, uint64_t group, struct str dir, const char *name)
{
	if (2 * (apply->n_anchors + 1) > apply->cap_anchors) {
		struct treeput_anchor *old = apply->anchors;
		size_t old_cap = apply->cap_anchors;

		apply->cap_anchors = old_cap ? 2 * old_cap : 64;
		apply->anchors = mem_zalloc(apply->cap_anchors * sizeof(*apply->anchors));
		for (size_t i = 0; i < old_cap; i++)
			if (old[i].group)
				*anchor_slot(apply, old[i].group) = old[i];
		free(old);
	}
	struct treeput_anchor *anchor = anchor_slot(apply, group);
	/*
	 * If the group has an anchor already, the file of that anchor is gone or can have no more
	 * links.  So the new name replaces the anchor.
	 */
	apply->n_anchors += !anchor->group;
	free(anchor->dir);
	free(anchor->name);
	*anchor = (struct treeput_anchor){
		.group = group,
		.dir = mem_dup(dir.ptr, dir.len),
		.name = mem_strdup(name),
	};
}

int treeput_link(struct treeapply_dir *dir, const char *name, const struct entry *from,
	const struct entry *entry, struct err *err)
{
	struct treeapply *apply = dir->apply;
	struct err ignored = { 0 };
	struct statx a, b;
	char temporary[64];

	if (!apply->n_anchors)
		return 0;
	struct treeput_anchor *anchor = anchor_slot(apply, entry->link);
	if (!anchor->group)
		return 0;
	owned_fd int fd = at_open(apply->options->fd, *anchor->dir ? anchor->dir : ".",
		O_PATH | O_DIRECTORY, &ignored);
	if (fd < 0 || at_name_stat(fd, anchor->name, &a) < 0)
		return 0;
	if (at_name_stat(dir->fd, name, &b) == 0 && a.stx_ino == b.stx_ino)
		return 1;
	temp_name(temporary, apply->temp++);
	(void)unlinkat(dir->fd, temporary, 0);
	if (linkat(fd, anchor->name, dir->fd, temporary, 0) < 0) {
		if (errno == EMLINK || errno == EPERM || errno == EXDEV) {
			treeapply_report(dir, name, REPORT_UNRESTORED, "hard link", errno);
			return 0;
		}
		return treeapply_failed(dir, name, "link", errno, err) < 0 ? -(int)err->code : 1;
	}
	int r = move_into_place(dir, temporary, name, from, err);
	if (r > 0)
		treeattrs_note_name(dir, name, a.stx_ino,
			&(struct treeapply_change){ .before = applied_ctime(&a) }, false);
	return r < 0 ? r : 1;
}
