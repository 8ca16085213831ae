/*
 * Members come in any order, and a later member replaces an earlier one with the same path, so no
 * directory is final before the end of the archive.  Contents are stored when they are read.  The
 * entries are kept in a temporary database, with directory and name as the key.  At the end the
 * directories are built, the deepest first.  So the subdirectories of a directory are built before
 * the directory itself, and one builder is enough for a tree of any depth.
 */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "tree/cutter.h"
#include "tree/tar.h"
#include "tree/tarball_priv.h"
#include "tree/treebuild.h"
#include "tree/xattrs.h"

#define FLUSH_EVERY (64u << 10) /* objects that may wait in memory before the store is flushed */

/* ------------------------------------------------------------------ entries */

/*
 * The root is the entry with an empty name in directory 0.  The other columns of the table 'entry':
 *
 *	id      of a directory: the value of 'dir' in the rows of its entries; else 0
 *	path    entry_path_hash
 *	inode   of hard-linked names: a number that they share; else 0
 *	body    the encoded entry, without name, link group and content of a directory
 */
/* clang-format off */
static const char schema[] =
	"CREATE TABLE entry ("
	"  dir INTEGER NOT NULL, name BLOB NOT NULL, id INTEGER NOT NULL,"
	"  depth INTEGER NOT NULL, path INTEGER NOT NULL, inode INTEGER NOT NULL,"
	"  body BLOB NOT NULL, PRIMARY KEY (dir, name)) WITHOUT ROWID;"
	"CREATE TABLE link_group (inode INTEGER PRIMARY KEY, value INTEGER NOT NULL);";
/* clang-format on */

#define ROOT_ID 1

/*
 * A directory on the path to the directory that was found last.  The last level is that directory
 * itself.
 */
struct level {
	int64_t id;
	uint64_t path;
	size_t end; /* length of the directory's path, which is a prefix of 'at' */
};

struct tar_import {
	struct store *store;
	struct report *report;
	struct tar_reader *tar;
	struct db *db;
	int64_t last_id, last_inode;
	uint64_t flushed; /* objects in the store at the last flush */
	char *window;
	struct buf path, link; /* cleaned paths of the member */
	struct buf body, target, xattrs;
	struct buf at; /* path of the directory that was found last */
	struct level *levels;
	size_t n_levels, cap_levels;
};

struct row {
	int64_t id, inode;
	uint64_t path;
};

static int refuse(struct tar_import *in, const struct tar_member *member, const char *why)
{
	report_add(in->report, REPORT_REFUSED, member->path, "%s", why);
	return 0;
}

/* Clean a path: "/a//b/./c/" becomes "a/b/c".  *why is set if the path cannot be used. */
static int clean_path(struct str raw, struct buf *out, const char **why, struct err *err)
{
	const char *end = raw.ptr + raw.len;
	unsigned depth = 0;

	buf_clear(out);
	for (const char *p = raw.ptr; p < end;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		struct str name = { p, (size_t)((slash ? slash : end) - p) };

		p += name.len + 1;
		if (!name.len || str_eq(name, STR(".")))
			continue;
		if (str_eq(name, STR("..")))
			*why = "'..' in its path";
		else if (!entry_name_ok(name))
			*why = "a name longer than 255 bytes";
		if (++depth > TARBALL_DEPTH_MAX)
			return err_set(err, ERR_LIMIT, "the archive nests deeper than %d",
				TARBALL_DEPTH_MAX);
		buf_add_name(out, name);
	}
	return out->overflowed ? err_set(err, ERR_LIMIT, "a path in the archive is too long") : 0;
}

static struct str split_path(const struct buf *path, struct str *name)
{
	const char *slash = memrchr(path->data, '/', path->len);
	size_t start = slash ? (size_t)(slash - path->data) + 1 : 0;

	*name = (struct str){ path->data + start, path->len - start };
	return (struct str){ path->data, slash ? start - 1 : 0 };
}

/*
 * Find the row of a name in a directory.  Returns 1, or 0 if the directory has no such name, or a
 * negative error.  If 'body' is not NULL, the encoded entry is written to *body.
 */
static int find_row(struct tar_import *in, int64_t dir, struct str name, struct row *row,
	struct buf *body, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(in->db, err,
		"SELECT id, inode, path, body FROM entry WHERE dir = ? AND name = ?", "ib", dir,
		name.ptr, name.len);
	int r = db_step(query, err);

	if (r <= 0)
		return r;
	*row = (struct row){ db_int(query, 0), db_int(query, 1), (uint64_t)db_int(query, 2) };
	if (body) {
		struct str bytes = db_bytes(query, 3);

		buf_clear(body);
		buf_add(body, bytes.ptr, bytes.len);
	}
	return 1;
}

static int put_row(struct tar_import *in, int64_t dir, struct str name, size_t depth,
	const struct row *row, const struct entry *entry, struct err *err)
{
	struct entry body = *entry;

	body.name = STR("");
	body.link = 0;
	buf_clear(&in->body);
	entry_encode(&body, &in->body);
	return db_run(in->db, err, "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)",
		"ibiiiib", dir, name.ptr, name.len, row->id, (int64_t)depth, (int64_t)row->path,
		row->inode, in->body.data, in->body.len);
}

static int drop_below(struct tar_import *in, int64_t dir, struct err *err)
{
	return db_run(in->db, err,
		"WITH RECURSIVE below(id) AS (VALUES (?) UNION ALL"
		" SELECT e.id FROM below CROSS JOIN entry e WHERE e.dir = below.id AND e.id > 0)"
		" DELETE FROM entry WHERE dir IN (SELECT id FROM below)",
		"i", dir);
}

/*
 * Put an entry into the directory that find_dir found last, in place of an older entry of that
 * name.
 */
static int put_entry(struct tar_import *in, struct str name, const struct entry *entry,
	int64_t inode, struct err *err)
{
	const struct level *dir = &in->levels[in->n_levels - 1];
	struct row row = { 0 };
	int r = find_row(in, dir->id, name, &row, NULL, err);

	if (r < 0)
		return r;
	if (entry->type != ENTRY_DIR) {
		if (row.id && (r = drop_below(in, row.id, err)) < 0)
			return r;
		row.id = 0;
	} else if (!row.id) {
		row.id = ++in->last_id;
	}
	row.inode = inode;
	row.path = entry_path_hash(dir->path, name);
	return put_row(in, dir->id, name, in->n_levels, &row, entry, err);
}

/* Returns how many of the present levels, counted from the root, are also on the way to 'path'. */
static size_t common_levels(const struct tar_import *in, struct str path)
{
	size_t n = 1, start = 0;

	for (; n < in->n_levels; n++) {
		size_t end = in->levels[n].end;

		if (path.len < end || memcmp(path.ptr + start, in->at.data + start, end - start) ||
			(path.len > end && path.ptr[end] != '/'))
			break;
		start = end;
	}
	return n;
}

static void push_level(struct tar_import *in, int64_t id, uint64_t path, struct str name)
{
	buf_add_name(&in->at, name);
	mem_grow(&in->levels, &in->cap_levels, in->n_levels);
	in->levels[in->n_levels++] = (struct level){ id, path, in->at.len };
}

static const struct entry plain_dir = { .name = STR(""), .type = ENTRY_DIR, .mode = 0755 };

/*
 * Find the directory at 'path', which becomes the last level.  Returns 1, or 0 if there is none.
 * If 'make' is true, missing directories are made.  In that case 0 means that a name on the path is
 * not a directory.
 */
static int find_dir(struct tar_import *in, struct str path, bool make, struct err *err)
{
	in->n_levels = common_levels(in, path);
	buf_truncate(&in->at, in->levels[in->n_levels - 1].end);
	while (in->at.len < path.len) {
		struct level *dir = &in->levels[in->n_levels - 1];
		const char *from = path.ptr + in->at.len + (in->at.len ? 1 : 0);
		const char *end = path.ptr + path.len;
		const char *slash = memchr(from, '/', (size_t)(end - from));
		struct str name = { from, (size_t)((slash ? slash : end) - from) };
		struct row row;
		int r = find_row(in, dir->id, name, &row, NULL, err);

		if (r == 0 && make) {
			row = (struct row){ ++in->last_id, 0, entry_path_hash(dir->path, name) };
			r = put_row(in, dir->id, name, in->n_levels, &row, &plain_dir, err);
			r = r < 0 ? r : 1;
		}
		if (r <= 0)
			return r;
		if (!row.id)
			return 0;
		push_level(in, row.id, row.path, name);
	}
	return 1;
}

/* ---------------------------------------------------------- one member read */

static void entry_of_member(const struct tar_member *member, struct entry *entry)
{
	int64_t seconds = member->mtime / TARBALL_SECOND, rest = member->mtime % TARBALL_SECOND;

	*entry = (struct entry){
		.name = STR(""),
		.type = entry_type_of(member->mode),
		.mode = member->mode & 07777,
		.uid = member->uid,
		.gid = member->gid,
		.mtime_sec = rest < 0 ? seconds - 1 : seconds,
		.mtime_nsec = (uint32_t)(rest < 0 ? rest + TARBALL_SECOND : rest),
	};
	if (entry->type == ENTRY_LINK) {
		entry->target = member->link;
		entry->size = member->link.len;
	}
	if (entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK) {
		entry->major = member->major;
		entry->minor = member->minor;
	}
}

/* Change an entry according to an attribute that only strata understands. */
static void apply_own_xattr(struct entry *entry, const struct tar_xattr *xattr)
{
	if (str_eq(xattr->name, TARBALL_OURS_TYPE) && str_eq(xattr->value, TARBALL_TYPE_SOCKET) &&
		entry->type == ENTRY_FILE)
		entry->type = ENTRY_SOCKET;
	if (str_eq(xattr->name, TARBALL_OURS_TYPE) && str_eq(xattr->value, TARBALL_TYPE_UNREAD) &&
		(entry->type == ENTRY_FILE || entry->type == ENTRY_DIR))
		entry->content = ENTRY_UNREAD;
	if (str_eq(xattr->name, TARBALL_OURS_SIZE) && entry->type == ENTRY_FILE) {
		entry->size = 0;
		for (size_t i = 0; i < xattr->value.len && i < 18; i++)
			if (xattr->value.ptr[i] >= '0' && xattr->value.ptr[i] <= '9')
				entry->size =
					10 * entry->size + (uint64_t)(xattr->value.ptr[i] - '0');
	}
}

static int read_xattrs(struct tar_import *in, const struct tar_member *member, struct entry *entry,
	const char **why, struct err *err)
{
	owned_mem struct xattr *list = NULL;
	size_t n = 0;

	if (!member->n_xattrs)
		return 0;
	list = mem_alloc(member->n_xattrs * sizeof(*list));
	for (size_t i = 0; i < member->n_xattrs; i++) {
		if (str_starts(member->xattrs[i].name, TARBALL_OURS))
			apply_own_xattr(entry, &member->xattrs[i]);
		else
			list[n++] =
				(struct xattr){ member->xattrs[i].name, member->xattrs[i].value };
	}
	buf_clear(&in->xattrs);
	xattrs_encode(list, n, &in->xattrs);
	if (n > XATTRS_MAX || in->xattrs.overflowed)
		*why = "too many extended attributes";
	if (!n || *why)
		return 0;
	return store_put(
		in->store, OBJECT_XATTRS, in->xattrs.data, in->xattrs.len, &entry->xattrs, err);
}

static int read_runs(struct tar_import *in, const struct tar_member *member, struct cutter *cutter,
	struct err *err)
{
	const void *bytes;
	uint64_t offset;
	size_t len;
	int r;

	while ((r = tar_reader_data(in->tar, &bytes, &len, &offset, err)) > 0) {
		if (offset < cutter->total || offset > member->size || len > member->size - offset)
			return err_set(err, ERR_CORRUPT, "damaged archive: data out of place");
		r = cutter_hole(cutter, offset - cutter->total, err);
		if (r >= 0)
			r = cutter_add(cutter, bytes, len, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : cutter_hole(cutter, member->size - cutter->total, err);
}

static int read_content(struct tar_import *in, const struct tar_member *member, struct entry *entry,
	struct err *err)
{
	owned(cutter_release) struct cutter cutter;

	cutter_init(&cutter, in->store, in->window);
	int r = read_runs(in, member, &cutter, err);
	return r < 0 ? r : cutter_finish(&cutter, entry, err);
}

static int add_root(struct tar_import *in, const struct tar_member *member, struct entry *entry,
	struct err *err)
{
	struct row row = { .id = ROOT_ID, .path = ENTRY_PATH_ROOT };

	if (entry->type != ENTRY_DIR)
		return refuse(in, member, "the top of a tree can only be a directory");
	return put_row(in, 0, STR(""), 0, &row, entry, err);
}

/* Add a hard link.  in->path and in->link are its cleaned path and target. */
static int add_hard_link(struct tar_import *in, const struct tar_member *member, struct err *err)
{
	struct str name, dir = split_path(&in->link, &name);
	struct entry entry;
	struct row row;
	int r = find_dir(in, dir, false, err);

	if (r > 0)
		r = find_row(in, in->levels[in->n_levels - 1].id, name, &row, &in->target, err);
	if (r <= 0)
		return r < 0 ? r
			     : refuse(in, member,
				       "a hard link to a member that does not come before it");
	if (row.id)
		return refuse(in, member, "a hard link to a directory");
	if (in->path.len == in->link.len && !memcmp(in->path.data, in->link.data, in->path.len))
		return 0;
	struct cursor body = cursor_of(in->target.data, in->target.len);
	r = entry_decode(&body, &entry, err);
	if (r >= 0 && !row.inode) {
		row.inode = ++in->last_inode;
		r = db_run(in->db, err, "UPDATE entry SET inode = ? WHERE dir = ? AND name = ?",
			"iib", row.inode, in->levels[in->n_levels - 1].id, name.ptr, name.len);
	}
	if (r < 0)
		return r;
	dir = split_path(&in->path, &name);
	r = find_dir(in, dir, true, err);
	if (r <= 0)
		return r < 0 ? r : refuse(in, member, "below something that is no directory");
	return put_entry(in, name, &entry, row.inode, err);
}

static int add_member(struct tar_import *in, const struct tar_member *member, struct err *err)
{
	struct str name, dir;
	struct entry entry;
	const char *why = NULL;
	int r = clean_path(member->path, &in->path, &why, err);

	if (r >= 0 && member->hardlink)
		r = clean_path(member->link, &in->link, &why, err);
	if (r < 0)
		return r;
	if (why)
		return refuse(in, member, why);
	if (member->hardlink && in->path.len && in->link.len)
		return add_hard_link(in, member, err);
	if (member->hardlink)
		return refuse(in, member, "a hard link to or from the top of the tree");
	entry_of_member(member, &entry);
	if (entry.type == ENTRY_LINK && (!entry.target.len || entry.target.len > ENTRY_TARGET_MAX))
		return refuse(in, member, "a symbolic link to nothing or to more than 4095 bytes");
	r = read_xattrs(in, member, &entry, &why, err);
	if (r < 0)
		return r;
	if (why)
		return refuse(in, member, why);
	if (member->mtime_clamped)
		report_add(in->report, REPORT_ALTERED, member->path,
			"its mtime is before 1677 or after 2262");
	if (!in->path.len)
		return add_root(in, member, &entry, err);
	dir = split_path(&in->path, &name);
	r = find_dir(in, dir, true, err);
	if (r <= 0)
		return r < 0 ? r : refuse(in, member, "below something that is no directory");
	if (entry.type == ENTRY_DIR && in->n_levels >= TARBALL_DEPTH_MAX)
		return err_set(
			err, ERR_LIMIT, "the archive nests deeper than %d", TARBALL_DEPTH_MAX);
	if (entry.type == ENTRY_FILE && entry.content != ENTRY_UNREAD)
		r = read_content(in, member, &entry, err);
	return r < 0 ? r : put_entry(in, name, &entry, 0, err);
}

static int read_members(struct tar_import *in, struct err *err)
{
	struct row root = { .id = ROOT_ID, .path = ENTRY_PATH_ROOT };
	struct tar_member member;
	int r = put_row(in, 0, STR(""), 0, &root, &plain_dir, err);

	in->last_id = ROOT_ID;
	in->flushed = store_added(in->store).objects;
	push_level(in, ROOT_ID, ENTRY_PATH_ROOT, STR(""));
	while (r >= 0 && (r = tar_reader_next(in->tar, &member, err)) > 0) {
		r = add_member(in, &member, err);
		if (r >= 0 && store_added(in->store).objects - in->flushed >= FLUSH_EVERY) {
			r = store_flush(in->store, err);
			in->flushed = store_added(in->store).objects;
		}
		if (r < 0)
			return err_context(err, "member '%.*s'",
				(int)(member.path.len < 200 ? member.path.len : 200),
				member.path.ptr);
	}
	return r;
}

/* ------------------------------------------------- building what was read */

static int put_group(
	struct tar_import *in, int64_t inode, uint64_t names, uint64_t sum, struct err *err)
{
	if (names < 2)
		return 0;
	return db_run(in->db, err, "INSERT INTO link_group VALUES (?, ?)", "ii", inode,
		(int64_t)(sum ? sum : 1));
}

/* Compute the link groups, as scan.c does for a live tree. */
static int number_link_groups(struct tar_import *in, struct err *err)
{
	int64_t inode = 0;
	uint64_t names = 0, sum = 0;
	int r = db_exec(
		in->db, "CREATE INDEX entry_inode ON entry (inode, path) WHERE inode > 0;", err);

	if (r < 0)
		return r;
	owned(db_donep) struct db_query *query = db_query(
		in->db, err, "SELECT inode, path FROM entry WHERE inode > 0 ORDER BY inode", "");
	while ((r = db_step(query, err)) > 0) {
		if (db_int(query, 0) != inode) {
			r = put_group(in, inode, names, sum, err);
			if (r < 0)
				return r;
			inode = db_int(query, 0);
			names = sum = 0;
		}
		names++;
		sum += (uint64_t)db_int(query, 1);
	}
	return r < 0 ? r : put_group(in, inode, names, sum, err);
}

static int build_dir(struct tar_import *in, struct treebuild *build, int64_t id, struct entry *dir,
	struct err *err)
{
	bool unread = dir->content == ENTRY_UNREAD;
	struct entry entry;
	int r;
	owned(db_donep) struct db_query *query = db_query(in->db, err,
		"SELECT name, body, value FROM entry LEFT JOIN link_group USING (inode)"
		" WHERE dir = ? ORDER BY name",
		"i", id);

	while ((r = db_step(query, err)) > 0) {
		struct str bytes = db_bytes(query, 1);
		struct cursor body = cursor_of(bytes.ptr, bytes.len);

		r = entry_decode(&body, &entry, err);
		if (r < 0)
			return r;
		entry.name = db_bytes(query, 0);
		entry.link = (uint64_t)db_int(query, 2);
		r = treebuild_add(build, &entry, err);
		if (r < 0)
			return r;
	}
	if (r >= 0)
		r = treebuild_finish(build, dir, err);
	if (r >= 0 && unread && dir->content == ENTRY_EMPTY)
		dir->content = ENTRY_UNREAD;
	return r;
}

/*
 * Find the next directory to build, after the directory with *depth and *id.  The deepest
 * directories are built first.  Returns 1, or 0 if no directory is left, or a negative error.
 * in->path gets the name of the directory, and in->target its body.
 */
static int next_dir(
	struct tar_import *in, int64_t *depth, int64_t *id, int64_t *parent, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(in->db, err,
		"SELECT depth, id, dir, name, body FROM entry"
		" WHERE id > 0 AND (depth, id) < (?, ?) ORDER BY depth DESC, id DESC LIMIT 1",
		"ii", *depth, *id);
	int r = db_step(query, err);

	if (r <= 0)
		return r;
	struct str name = db_bytes(query, 3), body = db_bytes(query, 4);
	*depth = db_int(query, 0);
	*id = db_int(query, 1);
	*parent = db_int(query, 2);
	buf_clear(&in->path);
	buf_add(&in->path, name.ptr, name.len);
	buf_clear(&in->target);
	buf_add(&in->target, body.ptr, body.len);
	return 1;
}

static int build_dirs(
	struct tar_import *in, struct treebuild *build, struct hash *tree, struct err *err)
{
	int64_t depth = INT64_MAX, id = INT64_MAX, parent = 0;
	int r = db_exec(in->db, "CREATE INDEX entry_depth ON entry (depth, id) WHERE id > 0;", err);

	while (r >= 0 && (r = next_dir(in, &depth, &id, &parent, err)) > 0) {
		struct cursor body = cursor_of(in->target.data, in->target.len);
		struct entry dir;

		r = entry_decode(&body, &dir, err);
		if (r >= 0)
			r = build_dir(in, build, id, &dir, err);
		if (r < 0)
			break;
		if (id == ROOT_ID)
			return treebuild_root(in->store, &dir, tree, err);
		buf_clear(&in->body);
		entry_encode(&dir, &in->body);
		r = db_run(in->db, err, "UPDATE entry SET body = ? WHERE dir = ? AND name = ?",
			"bib", in->body.data, in->body.len, parent, in->path.data, in->path.len);
	}
	return r < 0 ? r : err_set(err, ERR_CORRUPT, "the tree lost its root");
}

static int build_tree(struct tar_import *in, struct hash *tree, struct err *err)
{
	owned(treebuild_freep) struct treebuild *build = treebuild_new(in->store);
	int r = number_link_groups(in, err);

	return r < 0 ? r : build_dirs(in, build, tree, err);
}

static void reading_release(struct tar_import *in)
{
	tar_reader_close(in->tar);
	db_close(in->db);
	free(in->window);
	buf_release(&in->path);
	buf_release(&in->link);
	buf_release(&in->body);
	buf_release(&in->target);
	buf_release(&in->xattrs);
	buf_release(&in->at);
	free(in->levels);
}

int tarball_read(
	struct store *store, int fd, struct hash *tree, struct report *report, struct err *err)
{
	owned(reading_release) struct tar_import in = {
		.store = store,
		.report = report,
		.path.max = TARBALL_PATHS_MAX,
		.link.max = TARBALL_PATHS_MAX,
		.at.max = TARBALL_PATHS_MAX,
		.body.max = TARBALL_PATHS_MAX,
		.target.max = TARBALL_PATHS_MAX,
		.xattrs.max = XATTRS_BYTES_MAX,
	};

	in.tar = tar_reader_open(fd, err);
	if (!in.tar)
		return -(int)err->code;
	in.db = db_open("", DB_TEMP, err);
	if (!in.db)
		return -(int)err->code;
	in.window = mem_alloc(CUTTER_WINDOW);
	int r = db_exec(in.db, schema, err);
	if (r >= 0)
		r = db_begin(in.db, err);
	if (r >= 0)
		r = read_members(&in, err);
	/* Free the buffers of the reader, which are no longer needed. */
	tar_reader_close(take_ptr(&in.tar));
	return r < 0 ? r : build_tree(&in, tree, err);
}
