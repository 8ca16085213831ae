/*
 * Sets the owner, mode, time and extended attributes of one path.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/when.h"
#include "trace/undo/restore_priv.h"

static bool has_xattr(const struct bundle_state *state, const char *name)
{
	for (size_t i = 0; i < state->n_xattrs; i++)
		if (!strcmp(state->xattrs[i].name, name))
			return true;
	return false;
}

/* Remove an ACL that a new file has inherited from a default ACL of its directory. */
static void drop_inherited(const struct bundle_state *want, int dir, const char *name)
{
	static const char *const inherited[] = { "system.posix_acl_access",
		"system.posix_acl_default" };

	if (!(want->has & BUNDLE_HAS_MODE) || want->type == BUNDLE_LINK)
		return;
	for (size_t i = 0; i < sizeof(inherited) / sizeof(*inherited); i++)
		if (!has_xattr(want, inherited[i]))
			(void)at_xattr_remove(dir, name, inherited[i]);
}

/*
 * Set the extended attributes of the wanted state.  An attribute that only the other state in the
 * bundle has is removed.  An attribute that is in neither state is kept.
 */
static int set_xattrs(struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err)
{
	const struct bundle_state *want = &step->file->state[restore->options.side];
	const struct bundle_state *other = &step->file->state[!restore->options.side];

	for (size_t i = 0; i < other->n_xattrs; i++)
		if (!has_xattr(want, other->xattrs[i].name))
			(void)at_xattr_remove(dir, name, other->xattrs[i].name);
	for (size_t i = 0; i < want->n_xattrs; i++) {
		const struct attr *xattr = &want->xattrs[i];

		errno = -at_xattr_set(dir, name, xattr->name, xattr->value.ptr, xattr->value.len);
		if (errno && errno != EPERM)
			return err_errno(err, "set %s", xattr->name);
	}
	return 0;
}

static struct timespec time_of(int64_t ns)
{
	int64_t rest = ns % WHEN_SECOND;

	if (rest < 0)
		rest += WHEN_SECOND;
	return (struct timespec){ .tv_sec = (ns - rest) / WHEN_SECOND, .tv_nsec = rest };
}

int restore_attr_time(int dir, const char *name, const struct bundle_state *want, struct err *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(want->mtime) };

	/*
	 * A time beyond the limits of a manifest was recorded as the limit.  The limit is not set,
	 * since the true time is not known.
	 */
	if (!(want->has & BUNDLE_HAS_MTIME) || want->mtime >= WHEN_LAST ||
		want->mtime <= WHEN_FIRST)
		return 0;
	if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(err, "set its time");
	return 0;
}

/*
 * Set the attributes in an order in which no step undoes another.  The owner is first, since
 * changing the owner clears set-user-ID and capabilities.  The mode is last, since the other
 * attributes cannot be set without write permission.  A user who may not change the owner stays the
 * owner.
 */
int restore_attr_set(struct restore *restore, const struct restore_step *step, int dir,
	const char *name, struct err *err)
{
	const struct bundle_state *want = &step->file->state[restore->options.side];
	uid_t uid = want->has & BUNDLE_HAS_UID ? want->uid : (uid_t)-1;
	gid_t gid = want->has & BUNDLE_HAS_GID ? want->gid : (gid_t)-1;
	int rc;

	if (fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM &&
		errno != EINVAL)
		return err_errno(err, "set its owner");
	if (step->action != RESTORE_ATTRIBUTES)
		drop_inherited(want, dir, name);
	if ((rc = set_xattrs(restore, step, dir, name, err)) < 0 ||
		(rc = restore_attr_time(dir, name, want, err)) < 0)
		return rc;
	if (want->type == BUNDLE_DIR)
		restore_dir_unmark(dir, name);
	if (want->type == BUNDLE_LINK || !(want->has & BUNDLE_HAS_MODE))
		return 0;
	errno = -at_name_chmod(dir, name, want->mode);
	return errno ? err_errno(err, "set its mode") : 0;
}
