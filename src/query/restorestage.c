#include "query/restorestage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include "core/at.h"
#include "core/own.h"
#include "core/text.h"
#include "tree/entry.h"

#define PREFIX ".strata-restore-"
#define ID_DIGITS 16
#define COPY_SUFFIX ".new"
#define NEW_NAMES_MAX 100
#define NOTE_MAX 512 /* an inode number and a name */

int restorestage_failed(struct err *err, int number, const char *what, struct str name)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, name.len ? name : STR("/"));
	return err_set(err, ERR_DENIED, "cannot %s '%.200s': %s", what, shown.data ?: "",
		strerror(number));
}

static void copy_name(char out[RESTORESTAGE_NAME], const char *note)
{
	snprintf(out, RESTORESTAGE_NAME, "%.40s" COPY_SUFFIX, note);
}

/* -------------------------------------------------------------------- leftovers */

static bool is_note(const char *name)
{
	const char *id = name + strlen(PREFIX);

	return !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       strspn(id, "0123456789abcdef") == ID_DIGITS && !id[ID_DIGITS];
}

/* Whether the name still belongs to the file whose descriptor is 'note'. */
static bool is_named(int dir, const char *name, int note)
{
	struct statx named, opened;

	return at_name_stat(dir, name, &named) == 0 && at_fd_stat(note, &opened) == 0 &&
	       named.stx_ino == opened.stx_ino && named.stx_mnt_id == opened.stx_mnt_id;
}

/*
 * Open and lock the note of a process that has ended.  Returns -1 if the process still runs, or if
 * the file belongs to another user.
 */
static int lock_left_note(int dir, const char *name)
{
	struct statx stx;

	if (at_name_stat(dir, name, &stx) < 0 || !S_ISREG(stx.stx_mode) ||
		stx.stx_uid != geteuid() || stx.stx_size > NOTE_MAX)
		return -1;
	owned_fd int note = at_name_open(dir, name, O_RDONLY | O_NONBLOCK);
	if (note < 0 || flock(note, LOCK_EX | LOCK_NB) < 0 || !is_named(dir, name, note))
		return -1;
	return take_fd(&note);
}

/*
 * If the note says that the copy and an old file have exchanged their names, give the old file the
 * name of the backup.  Returns true if the file that now has the name of the copy can be removed.
 */
static bool settle_copy(int dir, const char *copy, int note)
{
	char text[NOTE_MAX + 1];
	ssize_t n = at_pread_full(note, text, NOTE_MAX, 0);
	struct statx stx;
	char *backup;

	if (n <= 0 || at_name_stat(dir, copy, &stx) < 0)
		return true;
	text[n] = '\0';
	uint64_t made = strtoull(text, &backup, 10);
	if (*backup != ' ' || !backup[1] || stx.stx_ino == made)
		return true;
	if (!entry_name_ok(str_of(backup + 1)))
		return false;
	return renameat2(dir, copy, dir, backup + 1, RENAME_NOREPLACE) == 0;
}

static void remove_left(int dir, const char *name)
{
	owned_fd int note = lock_left_note(dir, name);
	char copy[RESTORESTAGE_NAME];
	struct err ignored = { 0 };

	if (note < 0)
		return;
	copy_name(copy, name);
	/* The note is removed last, since the copy is only found by its note. */
	if (settle_copy(dir, copy, note) && at_remove_tree(dir, copy, &ignored) >= 0)
		(void)unlinkat(dir, name, 0);
}

static int clean_name(void *arg, int dir, const char *name, struct err *err)
{
	if (is_note(name))
		remove_left(dir, name);
	return 0;
}

/* -------------------------------------------------------------- opening a stage */

/* Make a note with a new name and lock it.  Returns 1, 0 if the name is taken, or -errno. */
static int make_note(struct restorestage *stage)
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return -errno;
	snprintf(stage->name, sizeof(stage->name), PREFIX "%016" PRIx64, id);
	struct err why = { 0 };
	owned_fd int note =
		at_create(stage->dir, stage->name, O_RDWR | O_EXCL | O_NOFOLLOW, 0600, &why);
	if (note < 0)
		return why.errno_value == EEXIST ? 0 : -(why.errno_value ?: EIO);
	int error = flock(note, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
	/* Another process may have removed the note as a leftover before this process locked it. */
	if (error == EWOULDBLOCK || (!error && !is_named(stage->dir, stage->name, note)))
		return 0;
	if (error) {
		(void)unlinkat(stage->dir, stage->name, 0);
		return -error;
	}
	stage->note = take_fd(&note);
	return 1;
}

int restorestage_clean(int dir, struct err *err)
{
	if (at_each_name(dir, ".", clean_name, NULL, err) >= 0)
		return 0;
	err->code = ERR_DENIED; /* a directory that cannot be listed cannot have a target */
	return -ERR_DENIED;
}

int restorestage_open(struct restorestage *stage, int dir, struct err *err)
{
	int r = 0;

	*stage = (struct restorestage){ .dir = dir, .note = -1 };
	for (int i = 0; r == 0 && i < NEW_NAMES_MAX; i++)
		r = make_note(stage);
	if (r <= 0)
		return restorestage_failed(
			err, r ? -r : EEXIST, "write in the directory of", str_of(stage->name));
	copy_name(stage->copy, stage->name);
	return 0;
}

bool restorestage_close(struct restorestage *stage)
{
	struct err ignored = { 0 };

	if (stage->note < 0)
		return true;
	bool removed = at_remove_tree(stage->dir, stage->copy, &ignored) >= 0;
	if (removed)
		(void)unlinkat(stage->dir, stage->name, 0);
	close_fd(&stage->note);
	return removed;
}

void restorestage_release(struct restorestage *stage)
{
	(void)restorestage_close(stage);
}

/* ---------------------------------------------------- putting the copy in place */

static int rename_copy(const struct restorestage *stage, const char *name, unsigned flags)
{
	return renameat2(stage->dir, stage->copy, stage->dir, name, flags) < 0 ? -errno : 0;
}

static int sync_dir(const struct restorestage *stage, const char *name, struct err *err)
{
	return fsync(stage->dir) < 0
		       ? restorestage_failed(err, errno, "sync the directory of", str_of(name))
		       : 0;
}

/*
 * Give the copy the name 'name'.  Returns 1, 0 if a file has this name already, or a negative
 * error.
 */
static int take_free_name(const struct restorestage *stage, const char *name, struct err *err)
{
	struct statx stx;
	int r = rename_copy(stage, name, RENAME_NOREPLACE);

	/* Without RENAME_NOREPLACE, use a hard link.  A new hard link never replaces a file. */
	if (r == -EINVAL && linkat(stage->dir, stage->copy, stage->dir, name, 0) == 0)
		r = 0;
	else if (r == -EINVAL && errno != EEXIST && at_name_stat(stage->dir, name, &stx) == -ENOENT)
		r = rename_copy(stage, name, 0);
	if (r == -EEXIST || r == -ENOTEMPTY || r == -EINVAL)
		return 0;
	if (r < 0)
		return restorestage_failed(err, -r, "rename the copy to", str_of(name));
	return sync_dir(stage, name, err) < 0 ? -(int)err->code : 1;
}

/*
 * Write into the note the inode number of the copy and the name of the backup.  If this process is
 * killed, a later process needs both.
 */
static int write_note(const struct restorestage *stage, const struct statx *made,
	const char *backup, struct err *err)
{
	char text[NOTE_MAX];
	int n = snprintf(text, sizeof(text), "%llu %s", (unsigned long long)made->stx_ino, backup);
	int r = at_pwrite_all(stage->note, text, (size_t)n, 0);

	if (r == 0 && fsync(stage->note) < 0)
		r = -errno;
	if (r < 0)
		return restorestage_failed(err, -r, "write", str_of(stage->name));
	return sync_dir(stage, stage->name, err);
}

static bool is_old(const struct restorestage *stage, const char *name, const struct statx *old)
{
	struct statx now;

	if (at_name_stat(stage->dir, name, &now) < 0 || now.stx_ino != old->stx_ino ||
		(now.stx_mode & S_IFMT) != (old->stx_mode & S_IFMT))
		return false;
	return S_ISDIR(now.stx_mode) ||
	       (now.stx_size == old->stx_size && now.stx_mtime.tv_sec == old->stx_mtime.tv_sec &&
		       now.stx_mtime.tv_nsec == old->stx_mtime.tv_nsec);
}

/*
 * Replace a file on a file system that cannot exchange two names.  For a directory this is an
 * error, since such a file system cannot replace a directory in one step.
 */
static int rename_over(const struct restorestage *stage, const char *name, const struct statx *old,
	const char *backup, struct err *err)
{
	if (S_ISDIR(old->stx_mode)) {
		err_set(err, ERR_DENIED,
			"the file system of '%.200s' cannot replace a directory in one step", name);
		return err_hint(err, "restore it to a new path");
	}
	if (!is_old(stage, name, old))
		return 0;
	if (backup && linkat(stage->dir, name, stage->dir, backup, 0) < 0)
		return restorestage_failed(err, errno, "make the backup of", str_of(name));
	int r = rename_copy(stage, name, 0);
	if (r < 0)
		return restorestage_failed(err, -r, "rename the copy to", str_of(name));
	return sync_dir(stage, name, err) < 0 ? -(int)err->code : 1;
}

/*
 * Complete an exchange: if a backup is wanted, give the old file the name 'backup'.  After an
 * error, both files get their names back.
 */
static int keep_old(
	const struct restorestage *stage, const char *name, const char *backup, struct err *err)
{
	int r = sync_dir(stage, name, err);

	if (r >= 0 && backup) {
		r = rename_copy(stage, backup, RENAME_NOREPLACE);
		if (r < 0)
			r = restorestage_failed(err, -r, "make the backup of", str_of(name));
	}
	if (r < 0) {
		(void)rename_copy(stage, name, RENAME_EXCHANGE);
		return r;
	}
	return backup && sync_dir(stage, name, err) < 0 ? -(int)err->code : 1;
}

int restorestage_place(struct restorestage *stage, const char *name, const struct statx *old,
	const char *backup, struct err *err)
{
	struct statx made;

	if (!old)
		return take_free_name(stage, name, err);
	int r = at_name_stat(stage->dir, stage->copy, &made);
	if (r < 0)
		return restorestage_failed(err, -r, "find the copy of", str_of(name));
	if (backup && (r = write_note(stage, &made, backup, err)) < 0)
		return r;
	r = rename_copy(stage, name, RENAME_EXCHANGE);
	if (r == -ENOENT)
		return take_free_name(stage, name, err);
	if (r == -EINVAL)
		return rename_over(stage, name, old, backup, err);
	if (r < 0)
		return restorestage_failed(err, -r, "rename the copy to", str_of(name));
	if (is_old(stage, stage->copy, old))
		return keep_old(stage, name, backup, err);
	/*
	 * Another file had replaced the old file before the exchange.  Give that file its name
	 * back.
	 */
	r = rename_copy(stage, name, RENAME_EXCHANGE);
	return r < 0 ? restorestage_failed(err, -r, "give its name back to", str_of(name)) : 0;
}
