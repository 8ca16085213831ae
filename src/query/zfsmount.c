#include "query/zfsmount.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/mountinfo.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/text.h"
#include "query/zfstool.h"

#define SNAPSHOTS ".zfs/snapshot"
#define ZFS_MAGIC 0x2fc12fc1
#define MOUNTINFO_MAX ((size_t)64 << 20)
#define POINT_MAX 8192 /* bytes that zfs prints about a mountpoint */
#define SHOWN 200      /* bytes of a mountpoint in a message */

/* ------------------------------------------------------------------- mounts */

void zfsmount_table_release(struct zfsmount_table *table)
{
	buf_release(&table->text);
	free(table->list);
	*table = (struct zfsmount_table){ 0 };
}

static int read_table(struct zfsmount_table *table, struct err *err)
{
	struct mountinfo mount;

	zfsmount_table_release(table);
	table->text.max = MOUNTINFO_MAX;
	int r = procfile_read("/proc/self/mountinfo", MOUNTINFO_MAX, &table->text, err);
	for (char *rest = table->text.data; r >= 0 && mountinfo_next(&rest, &mount);) {
		if (strcmp(mount.type, "zfs") != 0)
			continue;
		mem_grow(&table->list, &table->cap, table->n);
		table->list[table->n++] = (struct zfsmount_entry){ mount.device, mount.root,
			mount.point, mount.source };
	}
	return r;
}

static bool is_mount_of(const struct zfsmount_entry *entry, const char *source)
{
	return !strcmp(entry->source, source) && !strcmp(entry->root, "/");
}

/* Whether the file that stx describes is on the device of a mount whose source is 'source'. */
static bool has_device(
	const struct zfsmount_table *table, const struct statx *stx, const char *source)
{
	char device[32];

	snprintf(device, sizeof(device), "%u:%u", stx->stx_dev_major, stx->stx_dev_minor);
	for (size_t i = 0; i < table->n; i++)
		if (is_mount_of(&table->list[i], source) && !strcmp(table->list[i].device, device))
			return true;
	return false;
}

static bool is_on_zfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == ZFS_MAGIC;
}

/* Whether fd is on the file system that is mounted from 'source'. */
static bool is_of(int fd, const struct zfsmount_table *table, const char *source)
{
	struct statx stx;

	return is_on_zfs(fd) && at_fd_stat(fd, &stx) == 0 && has_device(table, &stx, source);
}

/*
 * Open .zfs/snapshot of a mount of the dataset.  The opened directory is checked, since another
 * mount may cover the mountpoint.  Returns -1 if there is no usable mount.  If there are only
 * unusable mounts, *why is set.
 */
static int open_mounted(const struct zfsmount *mount, struct err *why)
{
	const struct zfsmount_table *table = mount->table;

	for (size_t i = 0; i < table->n; i++) {
		if (!is_mount_of(&table->list[i], mount->dataset))
			continue;
		owned_fd int point =
			at_open_given(table->list[i].point, O_PATH | O_DIRECTORY, 0, why);
		owned_fd int fd =
			point < 0 ? -1 : at_open(point, SNAPSHOTS, O_PATH | O_DIRECTORY, why);

		if (fd >= 0 && is_of(fd, table, mount->dataset))
			return take_fd(&fd);
		if (fd >= 0)
			err_set(why, ERR_UNSUPPORTED, "another file system is mounted on it");
	}
	return -1;
}

/* -------------------------------------------------------------- mountpoints */

/* Set the error for a dataset that is not mounted.  'value' is its property mountpoint. */
static int refuse_point(const struct zfsmount *mount, struct str value, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	text_quote(&shown, value);
	if (str_eq(value, STR("-")))
		return err_set(err, ERR_UNSUPPORTED,
			"'%s' has no mountpoint, since it is no file system", mount->dataset);
	if (value.len && *value.ptr == '/')
		return err_set(err, ERR_UNSUPPORTED,
			"'%s' is not mounted; its mountpoint is '%.*s'", mount->dataset, SHOWN,
			shown.data);
	if (str_eq(value, STR("legacy")) || str_eq(value, STR("none")))
		return err_set(err, ERR_UNSUPPORTED,
			"'%s' is not mounted; its property mountpoint is '%s'", mount->dataset,
			shown.data);
	return err_set(err, ERR_CORRUPT, "'zfs get' printed '%.*s' instead of a mountpoint", SHOWN,
		shown.data ?: "");
}

/*
 * Set mount->point to the mountpoint that zfs reports.  This works only if mount->trust is set.
 * Otherwise the function always fails, with an error that explains why nothing is mounted.
 */
static int ask_point(struct zfsmount *mount, struct err *err)
{
	const char *const argv[] = { "zfs", "get", "-H", "-p", "-o", "value", "mountpoint",
		mount->dataset, NULL };
	owned(tool_release) struct tool_call call = { .argv = argv, .output.max = POINT_MAX };
	int r = zfstool_run(mount->family, &call, err);

	if (r < 0)
		return r;
	struct str value = { call.output.data ?: "", call.output.len };
	if (value.len && value.ptr[value.len - 1] == '\n')
		value.len--;
	if (mount->trust && value.len && *value.ptr == '/' && !memchr(value.ptr, '\0', value.len)) {
		mount->point = mem_zalloc(value.len + 1);
		memcpy(mount->point, value.ptr, value.len);
		return 0;
	}
	zfstool_blame(mount->family, &call);
	return refuse_point(mount, value, err);
}

static int open_trusted(struct zfsmount *mount, struct err *err)
{
	struct err why = { 0 };
	int r = mount->point ? 0 : ask_point(mount, err);

	if (r < 0)
		return r;
	owned_fd int point = at_open_given(mount->point, O_PATH | O_DIRECTORY, 0, &why);
	if (point < 0) {
		err_set(err, ERR_UNSUPPORTED, "'%s' has no usable mountpoint: %s", mount->dataset,
			why.text);
		free_mem(&mount->point);
		mount->point = NULL;
		return -(int)err->code;
	}
	r = at_open(point, SNAPSHOTS, O_PATH | O_DIRECTORY, &why);
	if (r < 0)
		return err_set(err, ERR_DENIED,
			"the mountpoint '%.*s' of '%s' has no directory '" SNAPSHOTS "'", SHOWN,
			mount->point, mount->dataset);
	return r;
}

static int open_snapshots(struct zfsmount *mount, struct err *err)
{
	struct err why = { 0 };

	if (mount->snapshots >= 0)
		return 0;
	if (mount->trust) {
		mount->snapshots = open_trusted(mount, err);
		return mount->snapshots < 0 ? -(int)err->code : 0;
	}
	int r = read_table(mount->table, err);
	if (r < 0)
		return r;
	mount->snapshots = open_mounted(mount, &why);
	if (mount->snapshots >= 0)
		return 0;
	return why.code ? err_set(err, ERR_UNSUPPORTED, "the mountpoint of '%s' cannot be used: %s",
				  mount->dataset, why.text)
			: ask_point(mount, err);
}

struct dirstamp zfsmount_stamp(struct zfsmount *mount)
{
	struct dirstamp none = { 0 };
	struct err ignored = { 0 };
	struct statx stx;

	if (mount->snapshots < 0 && mount->trust && mount->point)
		mount->snapshots = open_trusted(mount, &ignored);
	if (mount->snapshots < 0 && !mount->trust && read_table(mount->table, &ignored) >= 0)
		mount->snapshots = open_mounted(mount, &ignored);
	if (mount->snapshots < 0 || at_fd_stat(mount->snapshots, &stx) < 0)
		return none;
	return dirstamp_of(&stx, DIRSTAMP_MTIME);
}

/* ---------------------------------------------------------------- snapshots */

/* Set the error for a snapshot whose root could not be opened. */
static int refuse_root(
	struct zfsmount *mount, const char *snapshot, const struct err *why, struct err *err)
{
	struct statx stx;
	int r = at_name_stat(mount->snapshots, snapshot, &stx);

	if (r == -ENOENT)
		return err_set(err, ERR_NOT_FOUND, "there is no snapshot '%s@%s'", mount->dataset,
			snapshot);
	if (r == 0 && S_ISLNK(stx.stx_mode))
		return err_set(err, ERR_DENIED, "'%s@%s' is a symbolic link, not a snapshot",
			mount->dataset, snapshot);
	if (r == 0 && !S_ISDIR(stx.stx_mode))
		return err_set(
			err, ERR_DENIED, "'%s@%s' is not a directory", mount->dataset, snapshot);
	/*
	 * If ZFS cannot mount the snapshot, opening it gives ELOOP, which at_open reports as a
	 * symlink.
	 */
	if (why->code == ERR_DENIED || why->errno_value == ELOOP)
		return err_set(err, ERR_NOT_FOUND,
			"the snapshot '%s@%s' cannot be mounted; it may have been destroyed",
			mount->dataset, snapshot);
	return err_set(err, ERR_DENIED, "the snapshot '%s@%s' cannot be opened: %s", mount->dataset,
		snapshot, why->text);
}

/* Check that 'root' is the root directory of the snapshot. */
static int prove_root(const struct zfsmount *mount, int root, const char *snapshot, struct err *err)
{
	owned_mem char *source = mem_printf("%s@%s", mount->dataset, snapshot);

	/* The kernel may have mounted the snapshot after the table was read. */
	if (is_of(root, mount->table, source) ||
		(is_on_zfs(root) && read_table(mount->table, err) >= 0 &&
			is_of(root, mount->table, source)))
		return 0;
	return err_set(
		err, ERR_DENIED, "'%s' is a directory, but not the root of that snapshot", source);
}

int zfsmount_open(struct zfsmount *mount, const char *snapshot, struct err *err)
{
	struct err why = { 0 };
	int r = open_snapshots(mount, err);

	if (r < 0)
		return r;
	owned_fd int root = at_open(mount->snapshots, snapshot, O_PATH | O_DIRECTORY, &why);
	if (root < 0)
		return refuse_root(mount, snapshot, &why, err);
	r = mount->trust ? 0 : prove_root(mount, root, snapshot, err);
	return r < 0 ? r : take_fd(&root);
}

void zfsmount_rest(struct zfsmount *mount)
{
	close_fd(&mount->snapshots);
}

void zfsmount_release(struct zfsmount *mount)
{
	zfsmount_rest(mount);
	free(mount->point);
}
