#include "query/zfsfamily.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/dirview.h"
#include "query/zfsline.h"
#include "query/zfslists.h"
#include "query/zfsmount.h"
#include "query/zfspool.h"
#include "query/zfstool.h"

#define PENDING_MAX ((size_t)64 << 10) /* bytes of lines that may belong to one row */
#define NUMBER_MAX 64                  /* bytes of output if zfs prints only a number */
#define PROPERTIES_MAX 256             /* number of names in one request */

struct zfs_dataset {
	struct provider provider;
	struct zfsfamily *family;
	char *name;
	struct zfslist list;
	struct zfsmount mount;
	struct zfs_dataset *next; /* the next open dataset of the family */
};

struct zfsfamily {
	struct family family;
	bool trust;
	bool required;
	struct zfsmount_table table;
	struct zfslists lists;
	struct zfs_dataset *open;
};

static struct zfsfamily *family_of(struct family *family)
{
	return (struct zfsfamily *)family; /* the family is the first member of struct zfsfamily */
}

static struct zfs_dataset *dataset_of(struct provider *provider)
{
	/* The provider is the first member of struct zfs_dataset. */
	return (struct zfs_dataset *)provider;
}

/* ---------------------------------------------------------------- snapshots */

static int update_list(struct zfs_dataset *self, struct err *err)
{
	if (zfslists_take(&self->family->lists, self->name, &self->list))
		return 0;
	struct dirstamp stamp = zfsmount_stamp(&self->mount);
	return zfslist_update(&self->list, &self->family->family, self->name, &stamp, err);
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	struct zfs_dataset *self = dataset_of(provider);
	int r = update_list(self, err);

	if (r < 0)
		return r;
	provider->left_out = self->list.left_out;
	return zfslist_visit(&self->list, visit, arg, err);
}

/*
 * This function does not check that the snapshot exists, since a call of zfs would take long.  A
 * missing snapshot is noticed when its directory is opened.
 */
static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	if (!zfslist_find(&dataset_of(provider)->list, name, snapshot))
		*snapshot = (struct provider_snapshot){ .used = -1, .refer = -1 };
	snapshot->name = arena_strdup(arena, name);
	return 0;
}

static struct view *open_snapshot(struct provider *provider, const char *name, struct err *err)
{
	/* A file has the same inode number in all snapshots of its dataset. */
	static const struct dirview_options options = { .shared_inodes = true };
	struct zfs_dataset *self = dataset_of(provider);
	int root = zfsmount_open(&self->mount, name, err);

	if (root < 0 && err->code == ERR_NOT_FOUND)
		zfslist_forget(&self->list);
	return root < 0 ? NULL : dirview_new(root, &options);
}

/* ------------------------------------------------------------------ changes */

struct diffing {
	struct tool_call call;
	provider_change_visit visit;
	void *arg;
	struct buf path, new_path;
};

static void release_diffing(struct diffing *diffing)
{
	tool_release(&diffing->call);
	buf_release(&diffing->path);
	buf_release(&diffing->new_path);
}

static int pass_change(void *arg, struct str line, struct err *err)
{
	struct diffing *diffing = arg;
	struct zfsline_change change;

	if (!zfsline_change(line, &diffing->path, &diffing->new_path, &change))
		return zfstool_garbage(&diffing->call, line, "a change", err);
	struct entry entry = { .type = change.type, .name = { "", 0 }, .target = { "", 0 } };
	struct treediff_change passed = {
		.op = change.op,
		.path = change.path,
		.new_path = change.new_path,
		.a = change.op == '+' ? NULL : &entry,
		.b = change.op == '-' ? NULL : &entry,
	};
	return diffing->visit(diffing->arg, &passed, err);
}

static int own_diff(struct provider *provider, const char *a, const char *b,
	provider_change_visit visit, void *arg, struct err *err)
{
	struct zfs_dataset *self = dataset_of(provider);
	owned_mem char *from = mem_printf("%s@%s", self->name, a);
	owned_mem char *to = mem_printf("%s@%s", self->name, b);
	const char *const argv[] = { "zfs", "diff", "-H", "-F", from, to, NULL };
	owned(release_diffing) struct diffing diffing = {
		.call = { .argv = argv, .visit = pass_change },
		.visit = visit,
		.arg = arg,
		.path = BUF_INIT,
		.new_path = BUF_INIT,
	};

	diffing.call.arg = &diffing;
	diffing.call.time_max = ZFSTOOL_DIFF_SECONDS_MAX * WHEN_SECOND;
	return zfstool_run(&self->family->family, &diffing.call, err);
}

static int written(
	struct provider *provider, const char *a, const char *b, int64_t *bytes, struct err *err)
{
	struct zfs_dataset *self = dataset_of(provider);
	owned_mem char *property = mem_printf("written@%s", a);
	owned_mem char *to = mem_printf("%s@%s", self->name, b);
	const char *const argv[] = { "zfs", "get", "-H", "-p", "-o", "value", property, to, NULL };
	owned(tool_release) struct tool_call call = { .argv = argv, .output.max = NUMBER_MAX };
	int r = zfstool_run(&self->family->family, &call, err);

	if (r < 0)
		return r;
	struct str value = { call.output.data ?: "", call.output.len };
	if (value.len && value.ptr[value.len - 1] == '\n')
		value.len--;
	bool number = zfsline_number(value, bytes);
	if (number && *bytes >= 0)
		return 0;
	zfstool_blame(&self->family->family, &call);
	if (number)
		return err_set(err, ERR_UNSUPPORTED,
			"zfs does not know what was written between '%s@%s' and '%s'", self->name,
			a, to);
	return zfstool_garbage(&call, value, "a number of bytes", err);
}

/* ----------------------------------------------------- rows of several lines */

/*
 * The rows of a list that zfs prints.  The mountpoint of a dataset or the value of a property may
 * contain newlines.  So lines are joined until they make a row.
 */
struct rows {
	struct tool_call call;
	struct buf pending; /* joined lines that are no complete row yet */
	const char *expected;
	/* Returns 1 after visiting a row, 0 if the text is no complete row, or an error. */
	int (*take)(struct rows *rows, struct str text, struct err *err);
	struct str dataset;
	provider_dataset_visit dataset_visit;
	provider_property_visit property_visit;
	void *arg;
	bool stopped;
};

static void release_rows(struct rows *rows)
{
	tool_release(&rows->call);
	buf_release(&rows->pending);
}

static int take_line(void *arg, struct str line, struct err *err)
{
	struct rows *rows = arg;

	if (rows->pending.len) {
		buf_addc(&rows->pending, '\n');
		buf_add(&rows->pending, line.ptr, line.len);
		line = (struct str){ rows->pending.data, rows->pending.len };
	}
	if (rows->pending.overflowed)
		return zfstool_garbage(&rows->call, line, rows->expected, err);
	int r = rows->take(rows, line, err);
	if (r == 0 && !rows->pending.len)
		buf_add(&rows->pending, line.ptr, line.len);
	if (r == 0 && (!line.len || rows->pending.overflowed))
		return zfstool_garbage(&rows->call, line, rows->expected, err);
	if (r > 0)
		buf_clear(&rows->pending);
	return r < 0 ? r : rows->stopped;
}

static int read_rows(struct zfsfamily *family, struct rows *rows, struct err *err)
{
	rows->call.visit = take_line;
	rows->call.arg = rows;
	rows->pending.max = PENDING_MAX;
	int r = zfstool_run(&family->family, &rows->call, err);
	if (r >= 0 && rows->pending.len && !rows->stopped) {
		zfstool_blame(&family->family, &rows->call);
		return zfstool_garbage(&rows->call,
			(struct str){ rows->pending.data, rows->pending.len }, rows->expected, err);
	}
	return r;
}

static int take_property(struct rows *rows, struct str text, struct err *err)
{
	struct zfsline_property line;

	if (!zfsline_property(text, rows->dataset, &line))
		return 0;
	struct provider_property property = { line.name, line.value, line.source };
	int r = rows->property_visit(rows->arg, &property, err);
	rows->stopped = r > 0;
	return r < 0 ? r : 1;
}

static int properties(struct provider *provider, const char *const *names, size_t n,
	provider_property_visit visit, void *arg, struct err *err)
{
	struct zfs_dataset *self = dataset_of(provider);
	owned(buf_release) struct buf wanted = BUF_INIT;

	if (n > PROPERTIES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d properties", PROPERTIES_MAX);
	buf_adds(&wanted, n ? names[0] : "all");
	for (size_t i = 1; i < n; i++)
		buf_addf(&wanted, ",%s", names[i]);
	const char *const argv[] = { "zfs", "get", "-H", "-p", "-o", "name,property,value,source",
		wanted.data, self->name, NULL };
	owned(release_rows) struct rows rows = {
		.call.argv = argv,
		.expected = "a property",
		.take = take_property,
		.dataset = str_of(self->name),
		.property_visit = visit,
		.arg = arg,
	};
	return read_rows(self->family, &rows, err);
}

/* ---------------------------------------------------------------- providers */

static void close_dataset(struct provider *provider)
{
	struct zfs_dataset *self = dataset_of(provider);
	struct zfs_dataset **slot = &self->family->open;

	while (*slot != self)
		slot = &(*slot)->next;
	*slot = self->next;
	zfsmount_release(&self->mount);
	zfslist_release(&self->list);
	free(self->name);
	free(self);
}

static const struct provider_ops dataset_ops = {
	.name = "zfs",
	.snapshots = snapshots,
	.resolve = resolve,
	.open = open_snapshot,
	.own_diff = own_diff,
	.written = written,
	.properties = properties,
	.close = close_dataset,
};

static struct provider *open_dataset(struct family *family, const char *name, struct err *err)
{
	struct zfsfamily *self = family_of(family);
	struct zfs_dataset *dataset = mem_zalloc(sizeof(*dataset));

	dataset->name = mem_strdup(name);
	dataset->family = self;
	dataset->provider = (struct provider){ .ops = &dataset_ops, .dataset = dataset->name };
	dataset->mount = (struct zfsmount){
		.family = family,
		.table = &self->table,
		.dataset = dataset->name,
		.trust = self->trust,
		.snapshots = -1,
	};
	dataset->next = self->open;
	self->open = dataset;
	return &dataset->provider;
}

/* ------------------------------------------------------------------- family */

static int probe(struct family *family, struct err *err)
{
	owned(buf_release) struct buf path = BUF_INIT;
	struct err why = { 0 };

	if (family_of(family)->required)
		return 0;
	int r = tool_find("zfs", &path, err);
	if (r < 0)
		return r;
	owned_fd int device = at_open_given("/dev/zfs", O_RDWR, 0, &why);
	if (device >= 0)
		return 0;
	if (why.code == ERR_NOT_FOUND)
		return err_set(err, ERR_UNSUPPORTED,
			"the kernel module of ZFS is not loaded: there is no /dev/zfs");
	return err_set(err, ERR_UNSUPPORTED, "%s", why.text);
}

static int take_dataset(struct rows *rows, struct str text, struct err *err)
{
	struct zfsline_dataset line;

	if (!zfsline_dataset(text, &line))
		return 0;
	owned_mem char *name = mem_zalloc(line.name.len + 1);
	owned_mem char *point = mem_zalloc(line.mountpoint.len + 1);
	memcpy(name, line.name.ptr, line.name.len);
	if (line.mountpoint.len)
		memcpy(point, line.mountpoint.ptr, line.mountpoint.len);
	struct provider_dataset dataset = {
		.name = name,
		.type = str_eq(line.type, STR("volume")) ? "volume" : "filesystem",
		.mountpoint = strcmp(point, "-") != 0 ? point : NULL,
		.used = line.used,
		.avail = line.available,
	};
	int r = rows->dataset_visit(rows->arg, &dataset, err);
	rows->stopped = r > 0;
	return r < 0 ? r : 1;
}

static int datasets(struct family *family, provider_dataset_visit visit, void *arg, struct err *err)
{
	static const char *const argv[] = { "zfs", "list", "-H", "-p", "-t", "filesystem,volume",
		"-o", "name,type,mountpoint,used,available", NULL };
	owned(release_rows) struct rows rows = {
		.call.argv = argv,
		.expected = "a dataset",
		.take = take_dataset,
		.dataset_visit = visit,
		.arg = arg,
	};

	return read_rows(family_of(family), &rows, err);
}

static int gather(struct family *family, struct err *err)
{
	return zfslists_make(&family_of(family)->lists, family, err);
}

static void rest(struct family *family)
{
	zfslists_release(&family_of(family)->lists);
	for (struct zfs_dataset *dataset = family_of(family)->open; dataset;
		dataset = dataset->next)
		zfsmount_rest(&dataset->mount);
}

static void close_family(struct family *family)
{
	zfsmount_table_release(&family_of(family)->table);
	free(family);
}

static const struct family_ops zfs_ops = {
	.name = "zfs",
	.probe = probe,
	.datasets = datasets,
	.open = open_dataset,
	.close = close_family,
	.pools = zfspool_list,
	.pool_status = zfspool_status,
	.gather = gather,
	.rest = rest,
};

struct family *zfsfamily_new(bool trust_mountpoints)
{
	struct zfsfamily *family = mem_zalloc(sizeof(*family));

	family->family.ops = &zfs_ops;
	family->trust = trust_mountpoints;
	/* Tests replace zfs by a script, which is used without a probe. */
	family->required = trust_mountpoints;
	return &family->family;
}

void zfsfamily_require(struct family *family)
{
	family_of(family)->required = true;
}
