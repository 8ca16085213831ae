/*
 * One iterator walks the tree.  When a subdirectory ends, the iterator opens the parent again and
 * finds the name of the subdirectory in it.  The first names of hard-linked files are kept in a
 * temporary database.  So memory grows only with the depth of the tree.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "tree/content.h"
#include "tree/tar.h"
#include "tree/tarball_priv.h"
#include "tree/treeiter.h"
#include "tree/xattrs.h"

/* A directory that is being written.  Its path is the first 'end' bytes of tar_export.path. */
struct frame {
	enum entry_content content;
	struct hash hash;
	size_t end; /* the slash is included */
};

struct tar_export {
	struct store *store;
	struct report *report;
	struct tarball_written *written;
	struct tar_writer *tar;
	struct treeiter iter;
	struct db *first; /* path of the first name of each link group; NULL: none yet */
	struct buf path;  /* "./a/b", with a slash behind directories */
	struct buf link, xattrs;
	struct tar_extent *extents;
	size_t n_extents, cap_extents;
	struct frame *frames;
	size_t n_frames, cap_frames;
};

/* Returns the current path as it is in the tree, for reports. */
static struct str shown_path(const struct tar_export *out)
{
	struct str path = { out->path.data + 2, out->path.len - 2 };

	if (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

static int64_t member_time(struct tar_export *out, const struct entry *entry)
{
	int64_t time;

	if (!__builtin_mul_overflow(entry->mtime_sec, TARBALL_SECOND, &time) &&
		!__builtin_add_overflow(time, (int64_t)entry->mtime_nsec, &time))
		return time;
	report_add(out->report, REPORT_UNRESTORED, shown_path(out),
		"mtime: an archive keeps times from 1677 to 2262");
	return entry->mtime_sec < 0 ? INT64_MIN : INT64_MAX;
}

/*
 * Collect the runs of data in a chunk list that describes 'size' bytes of a file.  *at is the
 * offset in the file up to which runs were collected.  The parameter 'level' is the level that the
 * list must have, or -1 for the top list.
 */
static int gather_extents(struct tar_export *out, const struct hash *hash, uint64_t size,
	uint64_t *at, int level, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX + 1 };
	struct content_piece piece;
	struct content_list list = { 0 };
	int r = store_get(out->store, OBJECT_CHUNKS, hash, &bytes, err);

	if (r >= 0)
		r = content_list_open(&list, bytes.data, bytes.len, err);
	if (r >= 0 && level >= 0 && list.level != (unsigned)level)
		r = err_set(err, ERR_CORRUPT, "chunk list at the wrong level");
	while (r >= 0 && (r = content_list_next(&list, &piece, err)) > 0) {
		struct tar_extent *last = out->n_extents ? &out->extents[out->n_extents - 1] : NULL;

		if (list.level) {
			r = gather_extents(out, &piece.hash, size, at, (int)list.level - 1, err);
			continue;
		}
		if (piece.length > size - *at)
			return err_set(err, ERR_CORRUPT, "chunk list longer than its file");
		if (!piece.hole && last && last->offset + last->length == *at) {
			last->length += piece.length;
		} else if (!piece.hole) {
			mem_grow(&out->extents, &out->cap_extents, out->n_extents);
			out->extents[out->n_extents++] = (struct tar_extent){ *at, piece.length };
		}
		*at += piece.length;
	}
	return r;
}

static int set_extents(struct tar_export *out, const struct entry *entry, struct tar_member *member,
	struct err *err)
{
	uint64_t at = 0;

	out->n_extents = 0;
	int r = gather_extents(out, &entry->hash, entry->size, &at, -1, err);
	member->sparse = out->n_extents != 1 || out->extents[0].length != entry->size;
	member->extents = out->extents;
	member->n_extents = member->sparse ? out->n_extents : 0;
	return r;
}

static int write_run(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct tar_export *out = arg;

	/* The map of the member already contains the hole. */
	if (!bytes)
		return 0;
	int r = tar_writer_data(out->tar, bytes, (size_t)len, err);
	if (out->written)
		atomic_fetch_add(&out->written->bytes, len);
	return r;
}

/* The xattrs of a member, including those that only strata understands. */
struct extras {
	struct tar_xattr *list;
	size_t n, ours;
	char size[24];
};

static void extras_release(struct extras *extras)
{
	free(extras->list);
}

static int load_xattrs(
	struct tar_export *out, const struct entry *entry, struct extras *extras, struct err *err)
{
	struct xattrs_reader reader;
	struct xattr xattr;

	if (hash_is_none(&entry->xattrs))
		return 0;
	buf_clear(&out->xattrs);
	int r = store_get(out->store, OBJECT_XATTRS, &entry->xattrs, &out->xattrs, err);
	if (r >= 0)
		r = xattrs_open(&reader, out->xattrs.data, out->xattrs.len, err);
	while (r >= 0 && (r = xattrs_next(&reader, &xattr, err)) > 0)
		extras->list[extras->n++] = (struct tar_xattr){ xattr.name, xattr.value };
	return r;
}

/*
 * Load the xattrs of a member.  The xattrs that only strata understands come first, since they must
 * not be left out.
 */
static int load_extras(
	struct tar_export *out, const struct entry *entry, struct extras *extras, struct err *err)
{
	bool unread = entry->content == ENTRY_UNREAD;

	if (hash_is_none(&entry->xattrs) && !unread && entry->type != ENTRY_SOCKET)
		return 0;
	extras->list = mem_alloc((XATTRS_MAX + 2) * sizeof(*extras->list));
	if (entry->type == ENTRY_SOCKET || unread)
		extras->list[extras->n++] = (struct tar_xattr){ TARBALL_OURS_TYPE,
			unread ? TARBALL_TYPE_UNREAD : TARBALL_TYPE_SOCKET };
	if (unread && entry->type == ENTRY_FILE) {
		int len = snprintf(extras->size, sizeof(extras->size), "%llu",
			(unsigned long long)entry->size);

		extras->list[extras->n++] =
			(struct tar_xattr){ TARBALL_OURS_SIZE, { extras->size, (size_t)len } };
	}
	extras->ours = extras->n;
	return load_xattrs(out, entry, extras, err);
}

/*
 * If the archive already has a name of the link group, put its path into out->link and return 1.
 * Otherwise return 0, or a negative error.
 */
static int find_first_name(struct tar_export *out, uint64_t group, struct err *err)
{
	if (!out->first)
		return 0;
	owned(db_donep) struct db_query *query = db_query(out->first, err,
		"SELECT path FROM first WHERE link_group = ?", "i", (int64_t)group);
	int r = db_step(query, err);
	if (r > 0) {
		struct str path = db_bytes(query, 0);

		buf_clear(&out->link);
		buf_add(&out->link, path.ptr, path.len);
	}
	return r;
}

static int add_first_name(struct tar_export *out, uint64_t group, struct err *err)
{
	int r = 0;

	if (!out->first) {
		out->first = db_open("", DB_TEMP, err);
		if (!out->first)
			return -(int)err->code;
		r = db_exec(out->first,
			"CREATE TABLE first (link_group INTEGER PRIMARY KEY, path BLOB NOT NULL);",
			err);
		if (r >= 0)
			r = db_begin(out->first, err);
	}
	return r < 0 ? r
		     : db_run(out->first, err, "INSERT INTO first VALUES (?, ?)", "ib",
			       (int64_t)group, out->path.data, out->path.len);
}

/*
 * Write the header of a member.  The first 'ours' xattrs must be written.  The other xattrs are
 * left out if the archive cannot hold them.  Returns 1, or 0 if the member exceeds the limits of an
 * archive even without the other xattrs.  A report names what was left out.
 */
static int write_head(
	struct tar_export *out, struct tar_member *member, size_t ours, struct err *err)
{
	struct err why = { 0 };
	int r = tar_writer_member(out->tar, member, &why);

	if (r < 0 && why.code == ERR_LIMIT && member->n_xattrs > ours) {
		report_add(out->report, REPORT_UNRESTORED, shown_path(out),
			"extended attributes: %s", why.text);
		member->n_xattrs = ours;
		why = (struct err){ 0 };
		r = tar_writer_member(out->tar, member, &why);
	}
	if (r < 0 && why.code == ERR_LIMIT) {
		report_add(
			out->report, REPORT_UNRESTORED, shown_path(out), "left out: %s", why.text);
		return 0;
	}
	if (r < 0)
		*err = why;
	return r < 0 ? r : 1;
}

static int write_first_name(struct tar_export *out, const struct entry *entry,
	struct tar_member *member, struct err *err)
{
	owned(extras_release) struct extras extras = { 0 };
	bool bytes = entry->type == ENTRY_FILE && entry->content != ENTRY_UNREAD;
	int r = load_extras(out, entry, &extras, err);

	member->xattrs = extras.list;
	member->n_xattrs = extras.n;
	if (bytes)
		member->size = entry->size;
	if (r >= 0 && bytes && entry->content == ENTRY_CHUNKS)
		r = set_extents(out, entry, member, err);
	if (r >= 0)
		r = write_head(out, member, extras.ours, err);
	if (r > 0 && entry->content == ENTRY_UNREAD)
		report_add(out->report, REPORT_UNRESTORED, shown_path(out),
			"its content could not be read when it was captured");
	if (r > 0 && bytes && entry->size) {
		r = content_read(out->store, entry, 0, UINT64_MAX, write_run, out, err);
		r = r < 0 ? r : 1;
	}
	if (r > 0 && entry->link) {
		r = add_first_name(out, entry->link, err);
		r = r < 0 ? r : 1;
	}
	return r;
}

/* Write the entry at out->path.  Returns 1, or 0 if it was left out, or a negative error. */
static int write_entry(struct tar_export *out, const struct entry *entry, struct err *err)
{
	enum entry_type type = entry->type == ENTRY_SOCKET ? ENTRY_FILE : entry->type;
	struct tar_member member = {
		.path = { out->path.data, out->path.len },
		.link = entry->target,
		.mode = entry_type_mode(type) | entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.mtime = member_time(out, entry),
		.major = entry->major,
		.minor = entry->minor,
	};
	int r = entry->link ? find_first_name(out, entry->link, err) : 0;

	if (r > 0) {
		member.hardlink = true;
		member.link = (struct str){ out->link.data, out->link.len };
		r = write_head(out, &member, 0, err);
	} else if (r == 0) {
		r = write_first_name(out, entry, &member, err);
	}
	if (r < 0) {
		struct str path = shown_path(out);

		return err_context(err, "'%.*s'", (int)(path.len < 200 ? path.len : 200), path.ptr);
	}
	if (out->written)
		atomic_fetch_add(&out->written->entries, 1);
	return r;
}

static int enter_directory(struct tar_export *out, const struct entry *dir, struct err *err)
{
	if (out->n_frames > TARBALL_DEPTH_MAX)
		return err_set(
			err, ERR_LIMIT, "directories nested deeper than %d", TARBALL_DEPTH_MAX);
	mem_grow(&out->frames, &out->cap_frames, out->n_frames);
	out->frames[out->n_frames++] =
		(struct frame){ .content = dir->content, .hash = dir->hash, .end = out->path.len };
	return treeiter_open(&out->iter, dir, err);
}

/* Return to the parent directory, and move past the subdirectory that has ended. */
static int leave_directory(struct tar_export *out, struct err *err)
{
	struct frame *ended = &out->frames[--out->n_frames];

	if (!out->n_frames)
		return 0;
	const struct frame *frame = &out->frames[out->n_frames - 1];
	struct entry dir = { .type = ENTRY_DIR, .content = frame->content, .hash = frame->hash };
	struct str name = { out->path.data + frame->end, ended->end - frame->end - 1 };
	struct entry again;
	int r = treeiter_find(&out->iter, &dir, name, &again, err);
	buf_truncate(&out->path, frame->end);
	return r == 0 ? err_set(err, ERR_CORRUPT, "a directory lost an entry") : r;
}

static int write_next(struct tar_export *out, const struct entry *entry, struct err *err)
{
	bool dir = entry->type == ENTRY_DIR;
	size_t len = out->path.len;

	buf_add(&out->path, entry->name.ptr, entry->name.len);
	if (dir)
		buf_addc(&out->path, '/');
	if (out->path.overflowed)
		return err_set(err, ERR_LIMIT, "a path of more than %zu bytes", TARBALL_PATHS_MAX);
	int r = write_entry(out, entry, err);
	if (r > 0 && dir)
		return enter_directory(out, entry, err);
	buf_truncate(&out->path, len);
	return r;
}

static int write_tree(struct tar_export *out, const struct hash *tree, struct err *err)
{
	struct entry entry;
	int r = treeiter_root(&out->iter, tree, &entry, err);

	buf_adds(&out->path, "./");
	if (r >= 0)
		r = write_entry(out, &entry, err);
	if (r >= 0)
		r = enter_directory(out, &entry, err);
	while (r >= 0 && out->n_frames) {
		r = treeiter_next(&out->iter, &entry, err);
		if (r > 0)
			r = write_next(out, &entry, err);
		else if (r == 0)
			r = leave_directory(out, err);
	}
	return r;
}

int tarball_write(struct store *store, const struct hash *tree, int fd, struct report *report,
	struct tarball_written *written, struct err *err)
{
	struct tar_export *out = mem_zalloc(sizeof(*out));

	out->store = store;
	out->report = report;
	out->written = written;
	out->path.max = out->link.max = TARBALL_PATHS_MAX;
	out->xattrs.max = XATTRS_BYTES_MAX;
	treeiter_init(&out->iter, store);
	out->tar = tar_writer_open(fd, err);
	int r = out->tar ? write_tree(out, tree, err) : -(int)err->code;
	if (r >= 0)
		r = tar_writer_finish(out->tar, err);
	tar_writer_close(out->tar);
	treeiter_release(&out->iter);
	db_close(out->first);
	buf_release(&out->path);
	buf_release(&out->link);
	buf_release(&out->xattrs);
	free(out->extents);
	free(out->frames);
	free(out);
	return r;
}
