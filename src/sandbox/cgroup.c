#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mountinfo.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"

#define FILE_MAX (1 << 20)
#define EVENTS_MAX 4096
#define PREFIX "strata-"

/* ------------------------------------------------------------- the hierarchy */

/* Open the mount of the whole hierarchy, if the machine has one. */
static int open_mounted(struct err *err)
{
	owned(buf_release) struct buf mounts = BUF_INIT;
	struct mountinfo mount;

	if (procfile_read("/proc/self/mountinfo", FILE_MAX, &mounts, err) < 0)
		return -(int)err->code;
	for (char *rest = mounts.data; mountinfo_next(&rest, &mount);)
		if (!strcmp(mount.type, "cgroup2") && !strcmp(mount.root, "/"))
			return at_open_given(mount.point, O_PATH | O_DIRECTORY, 0, err);
	return err_set(err, ERR_UNSUPPORTED, "no cgroup2 is mounted");
}

/*
 * Mount the hierarchy without attaching it to a path.  Root can do this even on a machine on which
 * only version 1 is mounted.
 */
static int mount_detached(struct err *err)
{
	owned_fd int fs = fsopen("cgroup2", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_errno(err, "mount cgroup2");
	int tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return tree < 0 ? err_errno(err, "mount cgroup2") : tree;
}

/* Find the path of this process's cgroup in the hierarchy. */
static int own_group(char path[PATH_MAX], struct err *err)
{
	owned(buf_release) struct buf groups = BUF_INIT;

	if (procfile_read("/proc/self/cgroup", FILE_MAX, &groups, err) < 0)
		return -(int)err->code;
	const char *line = groups.len ? strstr(groups.data, "0::/") : NULL;
	if (!line || (line != groups.data && line[-1] != '\n'))
		return err_set(err, ERR_UNSUPPORTED, "this process is in no group of cgroup2");
	line += strlen("0::/");
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line, "\n"), line);
	return 0;
}

/* ------------------------------------------------------------ making, removing */

static int remove_one(void *arg, int parent, const char *name, struct err *err)
{
	(void)unlinkat(parent, name, AT_REMOVEDIR); /* ENOTDIR: the name is a file of the cgroup */
	return 0;
}

/*
 * Remove a cgroup and the cgroups of commands below it.  A cgroup stays if a process is left in it.
 */
static int remove_group(int parent, const char *name)
{
	struct err ignored = { 0 };

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
		return 0;
	(void)at_each_name(parent, name, remove_one, NULL, &ignored);
	return unlinkat(parent, name, AT_REMOVEDIR);
}

/* Remove a cgroup of strata that no process has locked: its holder was killed. */
static int remove_if_left(void *arg, int parent, const char *name, struct err *err)
{
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	owned_fd int group = at_name_open(parent, name, O_RDONLY | O_DIRECTORY);
	if (group >= 0 && flock(group, LOCK_EX | LOCK_NB) == 0)
		(void)remove_group(parent, name);
	return 0;
}

static int make_in(int hierarchy, const char *own, struct cgroup *out, struct err *err)
{
	owned_fd int parent = at_open(hierarchy, *own ? own : ".", O_PATH | O_DIRECTORY, err);
	owned_fd int dir = -1;
	struct err ignored = { 0 };

	if (parent < 0)
		return parent;
	(void)at_each_name(parent, ".", remove_if_left, NULL, &ignored);
	if (mkdirat(parent, out->name, 0755) < 0)
		return err_errno(err, "make a cgroup");
	dir = at_open(parent, out->name, O_RDONLY | O_DIRECTORY, err);
	/* Another holder may have removed the cgroup before this process could lock it. */
	if (dir < 0 || flock(dir, LOCK_SH | LOCK_NB) < 0 || !at_exists(dir, "cgroup.freeze")) {
		(void)unlinkat(parent, out->name, AT_REMOVEDIR);
		return err_set(err, ERR_UNSUPPORTED, "cgroups here cannot be frozen");
	}
	out->dir = take_fd(&dir);
	out->parent = take_fd(&parent);
	return 0;
}

int cgroup_make(const char *name, struct cgroup *out, struct err *err)
{
	char own[PATH_MAX];

	*out = CGROUP_INIT;
	snprintf(out->name, sizeof(out->name), PREFIX "%s", name);
	if (own_group(own, err) < 0)
		return -(int)err->code;
	for (int way = 0; way < 2; way++) {
		struct err reason = { 0 };
		owned_fd int hierarchy = way ? mount_detached(&reason) : open_mounted(&reason);

		if (hierarchy >= 0 && make_in(hierarchy, own, out, &reason) == 0)
			return 0;
		if (way)
			*err = reason;
	}
	return -(int)err->code;
}

bool cgroup_remove(const struct cgroup *cgroup)
{
	return remove_group(cgroup->parent, cgroup->name) == 0 || errno != EBUSY;
}

void cgroup_remove_left(int dir)
{
	struct err ignored = { 0 };
	owned_fd int parent = at_open_above(dir, 1, &ignored);
	owned_mem char *path = at_path_of(dir, &ignored);
	const char *name = path ? strrchr(path, '/') : NULL;

	if (parent >= 0 && name)
		(void)remove_group(parent, name + 1);
}

/* ------------------------------------------------------------------- freezing */

/*
 * Wait until the cgroup is frozen.  'events' is the cgroup's file of events; poll returns when this
 * file has changed.
 */
static int wait_frozen(int events, int wait_ms, struct err *err)
{
	struct pollfd changed = { .fd = events, .events = POLLPRI };
	int64_t end = when_monotonic() + wait_ms * WHEN_MS;
	char text[EVENTS_MAX];

	for (;;) {
		ssize_t n = at_pread_full(events, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, "frozen 1"))
			return 0;
		int left = when_ms_left(end);
		if (!left)
			return err_set(
				err, ERR_LIMIT, "not all processes stopped within %d ms", wait_ms);
		(void)poll(&changed, 1, left);
	}
}

int cgroup_freeze(const struct cgroup *cgroup, int wait_ms, struct err *err)
{
	struct err ignored = { 0 };
	owned_fd int events = at_open(cgroup->dir, "cgroup.events", O_RDONLY, err);

	if (events < 0 || procfile_write_at(cgroup->dir, "cgroup.freeze", "1", err) < 0)
		return -(int)err->code;
	int r = wait_frozen(events, wait_ms, err);
	if (r < 0)
		(void)cgroup_thaw(cgroup, &ignored);
	return r;
}

int cgroup_thaw(const struct cgroup *cgroup, struct err *err)
{
	return procfile_write_at(cgroup->dir, "cgroup.freeze", "0", err);
}
