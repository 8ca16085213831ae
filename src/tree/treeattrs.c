/* treeattrs - sets the owner, mode, times and extended attributes of one live file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "tree/shifted.h"
#include "tree/treeapply_priv.h"
#include "tree/xattrs.h"

static bool is_owned_by(const struct statx *now, const struct entry *want, uint32_t shift)
{
	return now->stx_uid == want->uid + shift && now->stx_gid == want->gid + shift;
}

static int set_owner(int dirfd, const char *name, const struct entry *want, uint32_t shift,
	const struct statx *now)
{
	uid_t uid = want->uid + shift;
	gid_t gid = want->gid + shift;

	if (is_owned_by(now, want, shift))
		return 0;
	if (fchownat(dirfd, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	int error = errno;
	/* Changing the group may be allowed even if changing the owner is not. */
	if (now->stx_gid != gid)
		(void)!fchownat(dirfd, name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW);
	return -error;
}

static bool is_wanted(const struct buf *object, struct str name)
{
	struct xattrs_reader reader;
	struct xattr xattr;
	struct err ignored = { 0 };

	if (!object->len || xattrs_open(&reader, object->data, object->len, &ignored) < 0)
		return false;
	while (xattrs_next(&reader, &xattr, &ignored) > 0)
		if (str_eq(xattr.name, name))
			return true;
	return false;
}

static void remove_unwanted(struct treeapply_dir *dir, int dirfd, const char *name,
	const char *shown, const struct buf *want, unsigned *lacks)
{
	owned_mem char *names = mem_alloc(AT_XATTR_MAX);
	ssize_t n = at_xattr_list(dirfd, name, names, AT_XATTR_MAX);

	for (const char *attr = names; n > 0 && attr < names + n; attr += strlen(attr) + 1) {
		if (is_wanted(want, str_of(attr)))
			continue;
		int r = at_xattr_remove(dirfd, name, attr);
		if (r >= 0 || r == -ENODATA)
			continue;
		treeapply_report(dir, shown, REPORT_UNRESTORED, attr, -r);
		*lacks |= APPLIED_NO_XATTRS;
	}
}

static int set_xattrs(struct treeapply_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *entry, unsigned *lacks, struct err *err)
{
	owned(buf_release) struct buf want = { .max = XATTRS_BYTES_MAX };
	owned(buf_release) struct buf room = BUF_INIT;
	owned_mem char *now = NULL;
	struct xattrs_reader reader;
	struct xattr xattr;
	char list[8];
	int r;

	/* In the common case, no attribute is wanted and the file has none. */
	if (hash_is_none(&entry->xattrs) && at_xattr_list(dirfd, name, list, sizeof(list)) == 0)
		return 0;
	if (!hash_is_none(&entry->xattrs)) {
		r = store_get(dir->apply->store, OBJECT_XATTRS, &entry->xattrs, &want, err);
		if (r >= 0)
			r = xattrs_open(&reader, want.data, want.len, err);
		if (r < 0)
			return r;
	}
	remove_unwanted(dir, dirfd, name, shown, &want, lacks);
	if (!want.len)
		return 0;
	now = mem_alloc(AT_XATTR_MAX);
	while ((r = xattrs_next(&reader, &xattr, err)) > 0) {
		char given[XATTRS_NAME_MAX + 1], escaped[XATTRS_NAME_MAX + 1];
		const char *attr = given;

		memcpy(given, xattr.name.ptr, xattr.name.len);
		given[xattr.name.len] = '\0';
		if (treeapply_in_overlay(dir))
			attr = xattrs_escape(given, escaped);
		struct str value =
			shifted_value(xattr.name, xattr.value, dir->apply->options->shift, &room);
		ssize_t n = at_xattr_get(dirfd, name, attr, now, AT_XATTR_MAX);
		if (n >= 0 && str_eq((struct str){ now, (size_t)n }, value))
			continue;
		int set = at_xattr_set(dirfd, name, attr, value.ptr, value.len);
		if (set < 0)
			*lacks |= APPLIED_NO_XATTRS;
		/*
		 * An attribute that only root may set is kept only in the history, like an owner.
		 */
		if (set == -EPERM)
			treeapply_report(dir, shown, REPORT_LOGICAL, attr, EPERM);
		else if (set < 0)
			r = treeapply_failed(dir, shown, attr, -set, err);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

/*
 * Stat a name.  The name "." means dirfd itself, which can be inspected by its descriptor even if
 * this user may not search the directory.
 */
static int stat_name(int dirfd, const char *name, struct statx *now)
{
	return strcmp(name, ".") ? at_name_stat(dirfd, name, now) : at_fd_stat(dirfd, now);
}

static int set_mode(int dirfd, const char *name, mode_t mode)
{
	if (strcmp(name, "."))
		return at_name_chmod(dirfd, name, mode);
	return fchmod(dirfd, mode) < 0 ? -errno : 0;
}

/*
 * Whether the file really has the mode that was set.  The kernel silently clears the setgid bit if
 * this user is not in the group of the file.
 */
static bool has_mode(int dirfd, const char *name, mode_t mode)
{
	struct statx now;

	return stat_name(dirfd, name, &now) < 0 || (now.stx_mode & 07777) == mode;
}

static int set_mode_checked(struct treeapply_dir *dir, int dirfd, const char *name,
	const char *shown, const struct entry *want, struct treeapply_change *changed,
	struct err *err)
{
	if (set_mode(dirfd, name, want->mode) == 0 && has_mode(dirfd, name, want->mode))
		return 0;
	/* The mode is set once more, since another program may have changed it in between. */
	if (set_mode(dirfd, name, want->mode) == 0 && has_mode(dirfd, name, want->mode))
		return 0;
	changed->lacks |= APPLIED_NO_MODE;
	int r = set_mode(dirfd, name, want->mode);
	return r < 0 ? treeapply_failed(dir, shown, "set mode", -r, err) : 0;
}

/*
 * The owner is set first, since chown clears setuid and capabilities.  The mode is set last, since
 * without write permission an ordinary user cannot set the other attributes.  (Setting the mode
 * does not change an ACL, since the mask of the ACL is equal to the group bits.)
 */
int treeattrs_set(struct treeapply_dir *dir, int dirfd, const char *name, const char *shown,
	const struct entry *want, struct treeapply_change *changed, struct err *err)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = want->mtime_sec, .tv_nsec = want->mtime_nsec },
	};
	struct statx now;
	int r = stat_name(dirfd, name, &now);

	if (r < 0)
		return treeapply_failed(dir, shown, "stat", -r, err);
	changed->before = applied_ctime(&now);
	bool squashed = dir->apply->options->squashed;
	uint32_t shift = dir->apply->options->shift;
	int owner = squashed ? 0 : set_owner(dirfd, name, want, shift, &now);
	if (owner < 0) {
		treeapply_report(dir, shown, REPORT_LOGICAL, "owner", -owner);
		changed->lacks |= APPLIED_NO_OWNER;
	}
	bool right = (now.stx_mode & 07777) == want->mode && hash_is_none(&want->xattrs) &&
		     (squashed || is_owned_by(&now, want, shift));
	if (geteuid() && want->type != ENTRY_LINK && !(now.stx_mode & 0200)) {
		(void)set_mode(dirfd, name, (now.stx_mode & 07777) | 0700);
		right = false;
	}
	r = set_xattrs(dir, dirfd, name, shown, want, &changed->lacks, err);
	if (r >= 0 && utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		r = treeapply_failed(dir, shown, "set mtime", errno, err);
	if (r >= 0 && want->type != ENTRY_LINK && !right)
		r = set_mode_checked(dir, dirfd, name, shown, want, changed, err);
	return r;
}

void treeattrs_note(struct treeapply_dir *dir, const struct statx *now,
	const struct treeapply_change *changed, bool made)
{
	struct applied *applied = dir->apply->options->applied;

	if (applied)
		applied_note(applied, now, made ? 0 : changed->before, changed->lacks);
}

void treeattrs_note_name(struct treeapply_dir *dir, const char *name, uint64_t ino,
	const struct treeapply_change *changed, bool made)
{
	struct statx now;

	if (dir->apply->options->applied && at_name_stat(dir->fd, name, &now) == 0 &&
		now.stx_ino == ino)
		treeattrs_note(dir, &now, changed, made);
}
