/*
 * Scans one directory.
 *
 * Quiet directories: on some file systems it is known which inodes changed since the old index was
 * made (options.changed).  If the inode of a directory has not changed, the directory still has the
 * names that the old index has.  Such a directory is called quiet.  In a quiet directory, the scan
 * looks only at names whose inode has changed.  If no inode has changed, the directory is not even
 * opened.
 *
 * The names of the directory, of the old index and of the adopted tree are all sorted, so the three
 * lists are walked side by side.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/stub.h"
#include "core/text.h"
#include "tree/scan_adopt.h"
#include "tree/scan_priv.h"
#include "tree/xattrs.h"

#define RACY_COARSE (2 * SCAN_SECOND) /* some file systems store times in whole seconds */

/* State of the walk along the names of one directory, its old list and its adopted list. */
struct merge {
	struct windex_item old;
	bool have_old, more_old;
	struct entry adopted;
	bool have_adopted, more_adopted;
	bool dirty;
	bool partial;     /* a name was left out, since it could not be looked at */
	size_t n_names;   /* names that were recorded */
	size_t n_adopted; /* number of recorded names that were taken over from the adopted tree */
	struct scan_children children;
	/* These flags describe the current name. */
	bool known;  /* the old list has the name */
	bool same;   /* the record of the name is the same as in the old list */
	bool adopts; /* the adopted tree has the name */
	bool covers; /* another file system is mounted over the name */
};

/* --- the names --- */

static int compare_names(const void *a, const void *b, void *base)
{
	const struct scan_name *x = a, *y = b;

	return str_cmp((struct str){ (char *)base + x->offset, x->len },
		(struct str){ (char *)base + y->offset, y->len });
}

static int read_names(struct scan_walker *w, int fd)
{
	buf_clear(&w->names);
	w->n_list = 0;
	for (;;) {
		long n = syscall(SYS_getdents64, fd, w->dents, SCAN_DENTS_SIZE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(void *)(w->dents + at);
			size_t len = strlen(d->d_name);

			at += d->d_reclen;
			if (d->d_name[0] == '.' && (len == 1 || (len == 2 && d->d_name[1] == '.')))
				continue;
			mem_grow(&w->list, &w->cap_list, w->n_list);
			w->list[w->n_list++] =
				(struct scan_name){ (uint32_t)w->names.len, (uint16_t)len };
			buf_add(&w->names, d->d_name, len + 1);
			if (w->names.overflowed)
				return -E2BIG;
		}
	}
	if (w->n_list)
		qsort_r(w->list, w->n_list, sizeof(*w->list), compare_names, w->names.data);
	return 0;
}

/*
 * Returns -EACCES if this user may list the directory but not stat the files in it, else 0.  The
 * caller must treat a directory with -EACCES as unread.  If its files were only left out, they
 * would seem to be deleted.
 */
static int may_search(struct scan_walker *w, int fd)
{
	struct statx stx;

	if (!w->n_list || !geteuid())
		return 0;
	return at_name_stat(fd, w->names.data + w->list[0].offset, &stx) == -EACCES ? -EACCES : 0;
}

static bool is_excluded(struct scan_walker *w, const struct scan_place *dir, struct str name)
{
	const struct scan_options *options = w->state->options;

	for (size_t i = 0; i < options->n_exclude; i++) {
		struct str pattern = str_of(options->exclude[i]);
		bool anywhere = !memchr(pattern.ptr, '/', pattern.len);

		if (text_glob(pattern, anywhere ? name : scan_path(w, dir, name)))
			return true;
	}
	return false;
}

static bool is_skipped(const struct scan_options *options, const struct statx *stx)
{
	for (size_t i = 0; i < options->n_skip; i++)
		if (options->skip[i].ino == stx->stx_ino &&
			options->skip[i].dev_major == stx->stx_dev_major &&
			options->skip[i].dev_minor == stx->stx_dev_minor)
			return true;
	return false;
}

/* --- changes --- */

static void record_from_stat(struct windex_record *record, const struct statx *stx)
{
	*record = (struct windex_record){
		.type = (uint8_t)entry_type_of(stx->stx_mode),
		.mode = stx->stx_mode & 07777,
		.uid = stx->stx_uid,
		.gid = stx->stx_gid,
		.mtime_sec = stx->stx_mtime.tv_sec,
		.mtime_nsec = stx->stx_mtime.tv_nsec,
		.ctime_sec = stx->stx_ctime.tv_sec,
		.ctime_nsec = stx->stx_ctime.tv_nsec,
		.ino = stx->stx_ino,
		.size = stx->stx_size,
	};
	if (record->type == ENTRY_CHAR || record->type == ENTRY_BLOCK)
		record->size = (uint64_t)stx->stx_rdev_major << 32 | stx->stx_rdev_minor;
	else if (record->type == ENTRY_DIR)
		/* the size of a directory differs between file systems and means nothing */
		record->size = 0;
	if (record->type != ENTRY_DIR && stx->stx_nlink > 1)
		record->flags |= WINDEX_LINKED;
}

static bool is_unchanged(const struct scan_state *state, const struct windex_record *now,
	const struct windex_record *old)
{
	int64_t ctime = old->ctime_sec * SCAN_SECOND + old->ctime_nsec;
	int64_t slack = old->ctime_nsec ? 0 : RACY_COARSE;

	return now->ino == old->ino && now->size == old->size && now->type == old->type &&
	       now->ctime_sec == old->ctime_sec && now->ctime_nsec == old->ctime_nsec &&
	       now->mtime_sec == old->mtime_sec && now->mtime_nsec == old->mtime_nsec &&
	       now->mode == old->mode &&
	       (state->options->other_ids || (now->uid == old->uid && now->gid == old->gid)) &&
	       !(old->flags & WINDEX_UNHASHED) && ctime < state->trusted - slack &&
	       !(state->options->mapped && mapped_may_have(state->options->mapped, now->ino));
}

static int compare_inodes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool may_have_changed(const struct scan_options *options, uint64_t ino)
{
	const struct scan_inodes *changed = options->changed;

	return !changed || (changed->n && bsearch(&ino, changed->list, changed->n,
						  sizeof(*changed->list), compare_inodes));
}

static bool must_look(const struct scan_options *options, const struct windex_record *old)
{
	return old->flags & WINDEX_UNHASHED || may_have_changed(options, old->ino);
}

bool scan_dir_recall(struct scan_walker *w, const struct scan_place *dir, bool *disturbed)
{
	const uint32_t doubtful = WINDEX_DIR_DIRTY | WINDEX_DIR_GONE | WINDEX_DIR_UNREAD |
				  WINDEX_DIR_STAND_IN | WINDEX_DIR_PARTIAL;
	const struct scan_options *options = w->state->options;
	struct windex_dir old;
	struct windex_item item;

	if (!windex_get_dir(options->old, dir->old_id, &old) || old.flags & doubtful)
		return false;
	buf_clear(&w->names);
	w->n_list = 0;
	*disturbed = false;
	windex_reader_begin(&w->old, old.segment);
	while (windex_reader_next(&w->old, &item) > 0) {
		mem_grow(&w->list, &w->cap_list, w->n_list);
		w->list[w->n_list++] =
			(struct scan_name){ (uint32_t)w->names.len, (uint16_t)item.name.len };
		buf_add(&w->names, item.name.ptr, item.name.len);
		buf_addc(&w->names, '\0');
		if (must_look(options, &item.record))
			*disturbed = true;
	}
	return !w->old.damaged && !w->names.overflowed;
}

/* --- one name --- */

static int read_xattrs(struct scan_walker *w, const struct scan_place *dir, int dirfd,
	const char *name, struct str shown, struct hash *found, struct err *err)
{
	memset(found, 0, sizeof(*found));
	buf_clear(&w->xattrs);
	int n = xattrs_read(dirfd, name, w->state->options->upper, &w->xattrs);
	if (n < 0 && n != -ENOENT) {
		errno = -n;
		report_add(w->state->options->report, REPORT_UNREADABLE, scan_path(w, dir, shown),
			"extended attributes: %m");
	}
	if (n <= 0)
		return 0;
	return store_put(
		w->state->options->store, OBJECT_XATTRS, w->xattrs.data, w->xattrs.len, found, err);
}

/*
 * Step forward in the adopted list to the given name.  Returns 1 if the list has the name, 0 if
 * not, or a negative error.
 */
static int adopt_seek(struct scan_walker *w, struct merge *merge, struct str name, struct err *err)
{
	while (merge->more_adopted) {
		if (!merge->have_adopted) {
			int r = treeiter_next(&w->adopt, &merge->adopted, err);

			if (r < 0)
				return r;
			merge->more_adopted = merge->have_adopted = r > 0;
			continue;
		}
		int order = str_cmp(merge->adopted.name, name);
		if (order >= 0)
			return order == 0;
		merge->have_adopted = false;
	}
	return 0;
}

/*
 * Step forward in the old list to the given name.  Returns whether the list has that name.  The
 * names that are skipped were deleted from the directory.
 */
static bool old_seek(struct scan_walker *w, struct merge *merge, struct str name)
{
	while (merge->more_old) {
		if (!merge->have_old) {
			merge->more_old = windex_reader_next(&w->old, &merge->old) > 0;
			merge->have_old = merge->more_old;
			continue;
		}
		int order = str_cmp(merge->old.name, name);
		if (order >= 0)
			return order == 0;
		merge->dirty = true;
		merge->have_old = false;
	}
	return false;
}

static void note_link(struct scan_walker *w, const struct scan_place *dir, struct str name,
	const struct windex_record *record)
{
	mem_grow(&w->links, &w->cap_links, w->n_links);
	w->links[w->n_links++] = (struct scan_link){
		.ino = record->ino,
		.path = entry_path_hash(dir->path, name),
		.group = record->link,
		.dir = dir->id,
	};
}

static void add_child(struct scan_children *children, struct scan_place *dir, struct str name,
	struct windex_record *record, uint32_t old_id, const struct entry *adopt,
	struct windex *index)
{
	struct scan_place *child = scan_new_place(dir, name, windex_add_dir(index, dir->id));

	child->path = entry_path_hash(dir->path, name);
	child->old_id = old_id;
	if (adopt && adopt->type == ENTRY_DIR) {
		child->adopting = true;
		child->adopt.type = ENTRY_DIR;
		child->adopt.content = adopt->content;
		child->adopt.hash = adopt->hash;
		child->adopt.count = adopt->count;
		child->adopt.size = adopt->size;
	}
	record->link = child->id;
	child->below = children->first;
	children->first = child;
	children->count++;
}

/* Take over the record of an unchanged name from the old list. */
static void keep_old(struct scan_adopt *item, const struct windex_item *old)
{
	struct windex_record *now = &item->now;

	now->hash = old->record.hash;
	now->content = old->record.content;
	now->link = old->record.link;
	now->flags |= old->record.flags & WINDEX_NO_LINKS;
	now->uid = old->record.uid;
	now->gid = old->record.gid;
	item->xattrs = old->xattrs;
	item->override = old->record.flags & WINDEX_OVERRIDE;
	item->wanted = old->override;
}

/* Complete the record of a name that is new or has changed. */
static void scan_changed(struct scan_walker *w, struct merge *merge, struct scan_adopt *item)
{
	merge->dirty = true;
	item->xattrs = item->found;
	if (item->now.type == ENTRY_FILE)
		item->now.flags |= WINDEX_UNHASHED;
	if (merge->adopts && scan_adopt_entry(item, &merge->adopted, w->state->options->applied,
				     merge->known ? &merge->old.record : NULL))
		merge->n_adopted++;
	else if (merge->known)
		scan_adopt_carry(item, &merge->old);
}

static void scan_subdirectory(struct scan_walker *w, struct scan_place *dir, struct str name,
	struct merge *merge, struct windex_record *now)
{
	const struct scan_options *options = w->state->options;
	const struct windex_record *old = &merge->old.record;
	bool had = merge->known && old->type == ENTRY_DIR;

	add_child(&merge->children, dir, name, now, had ? (uint32_t)old->link : WINDEX_NO_DIR,
		merge->adopts ? &merge->adopted : NULL, w->state->index);
	merge->children.first->covered = merge->covers || dir->covered;
	/*
	 * The times of a directory change when a name is added or removed.  So if the record of a
	 * directory has not changed, the directory still has the names that are in the old index.
	 */
	merge->children.first->listed = merge->same && options->upper;
	merge->children.first->quiet =
		had && now->ino == old->ino && !may_have_changed(options, now->ino);
}

static int index_failed(int r, struct err *err)
{
	return err_number(err, -r, "write the workspace index");
}

/* Record one name of dir.  If stx is NULL, the record is taken from the old list. */
static int scan_name(struct scan_walker *w, struct scan_place *dir, int dirfd, const char *cname,
	struct str name, const struct statx *stx, struct merge *merge, struct err *err)
{
	struct scan_adopt item = { 0 };
	int r = 0;

	merge->known = merge->same = old_seek(w, merge, name);
	if (stx) {
		record_from_stat(&item.now, stx);
		merge->same = merge->known && is_unchanged(w->state, &item.now, &merge->old.record);
	} else {
		item.now = merge->old.record;
	}
	if (merge->more_adopted && (!merge->same || item.now.type == ENTRY_DIR))
		r = adopt_seek(w, merge, name, err);
	if (r < 0)
		return r;
	merge->adopts = r > 0 && !merge->covers && !dir->covered;
	if (merge->same) {
		keep_old(&item, &merge->old);
	} else {
		r = read_xattrs(w, dir, dirfd, cname, name, &item.found, err);
		if (r < 0)
			return r;
		scan_changed(w, merge, &item);
	}
	if (item.now.type == ENTRY_DIR)
		scan_subdirectory(w, dir, name, merge, &item.now);
	else if (item.now.flags & WINDEX_LINKED)
		note_link(w, dir, name, &item.now);
	if (merge->known)
		merge->have_old = false;
	merge->n_names++;
	r = windex_writer_add(
		&w->out, &item.now, &item.xattrs, item.override ? &item.wanted : NULL, name);
	return r < 0 ? index_failed(r, err) : 0;
}

/* --- one directory --- */

/* Whether the old list has the right record of a name in a quiet directory. */
static bool is_undisturbed(
	struct scan_walker *w, const struct scan_place *dir, struct merge *merge, struct str name)
{
	return dir->quiet && old_seek(w, merge, name) &&
	       (dir->covered || !must_look(w->state->options, &merge->old.record));
}

/*
 * Handle a name over which another file system is mounted.  That file system is not part of the
 * tree, and hides the file that the tree has there.  If the old list has the name, the old record
 * is kept.  If not, a directory is recorded as empty, and any other file is left out.  Returns 0 if
 * the caller must record an empty directory, 1 if the name needs no further work, or a negative
 * error.
 */
static int scan_covered(struct scan_walker *w, struct scan_place *dir, const char *cname,
	struct str name, bool is_dir, struct merge *merge, struct err *err)
{
	bool known = old_seek(w, merge, name);

	if (!known && is_dir)
		return 0;
	report_add(w->state->options->report, REPORT_LEFT_OUT, scan_path(w, dir, name),
		"another file system is mounted here");
	if (!known)
		return 1;
	merge->covers = true;
	int r = scan_name(w, dir, dir->fd, cname, name, NULL, merge, err);
	merge->covers = false;
	return r < 0 ? r : 1;
}

static int scan_names(
	struct scan_walker *w, struct scan_place *dir, struct merge *merge, struct err *err)
{
	struct scan_state *state = w->state;

	for (size_t i = 0; i < w->n_list; i++) {
		const char *cname = w->names.data + w->list[i].offset;
		struct str name = { cname, w->list[i].len };
		struct statx stx;
		int r;

		if (state->options->n_exclude && is_excluded(w, dir, name))
			continue;
		if (is_undisturbed(w, dir, merge, name)) {
			r = scan_name(w, dir, dir->fd, cname, name, NULL, merge, err);
			if (r < 0)
				return r;
			continue;
		}
		r = at_name_stat(dir->fd, cname, &stx);
		if (r == -ENOENT) {
			report_add(state->options->report, REPORT_VANISHED, scan_path(w, dir, name),
				"gone before it was looked at");
			merge->dirty = merge->partial = true;
			continue;
		}
		if (r < 0) {
			errno = -r;
			report_add(state->options->report, REPORT_UNREADABLE,
				scan_path(w, dir, name), "stat: %m");
			merge->dirty = merge->partial = true;
			continue;
		}
		bool is_dir = S_ISDIR(stx.stx_mode);
		if (is_dir && is_skipped(state->options, &stx))
			continue;
		if (stub_is(dir->fd, cname, &stx)) {
			if (state->options->drop_stubs)
				stub_remove(dir->fd, cname);
			continue;
		}
		r = stx.stx_mnt_id == state->mnt_id
			    ? 0
			    : scan_covered(w, dir, cname, name, is_dir, merge, err);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		r = scan_name(w, dir, dir->fd, cname, name, &stx, merge, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void free_children(struct scan_children *children)
{
	while (children->first) {
		struct scan_place *next = children->first->below;

		free(children->first);
		children->first = next;
	}
}

static void start_merge(
	struct scan_walker *w, struct scan_place *dir, struct merge *merge, struct windex_dir *old)
{
	bool had = dir->old_id != WINDEX_NO_DIR && w->state->options->old &&
		   windex_get_dir(w->state->options->old, dir->old_id, old) &&
		   !(old->flags & (WINDEX_DIR_GONE | WINDEX_DIR_DIRTY));

	*merge = (struct merge){ 0 };
	if (had) {
		windex_reader_begin(&w->old, old->segment);
		merge->more_old = true;
		/*
		 * The old index already has the adopted tree for this directory, and so for all
		 * directories below it.
		 */
		if (dir->adopting && !(old->flags & WINDEX_DIR_UNREAD) &&
			hash_eq(&old->tree, &dir->adopt.hash))
			dir->adopting = false;
	} else {
		*old = (struct windex_dir){ .flags = WINDEX_DIR_DIRTY };
		merge->dirty = true;
	}
}

/*
 * Returns 1 if a directory has exactly the entries of the adopted directory, else 0, or a negative
 * error.
 */
static int is_wholly_adopted(
	struct scan_walker *w, const struct scan_place *dir, struct merge *merge, struct err *err)
{
	struct entry more;

	if (!dir->adopting || merge->n_adopted != merge->n_names)
		return 0;
	/*
	 * The adopted entry that was read last belongs to the last name of the directory.  If the
	 * directory has no names, that entry has no counterpart, so the directories differ.
	 */
	if (merge->have_adopted && !merge->n_names)
		return 0;
	int r = merge->more_adopted ? treeiter_next(&w->adopt, &more, err) : 0;
	return r < 0 ? r : r == 0;
}

/* Open the adopted version of the directory, if there is one to compare with. */
static int start_adopting(
	struct scan_walker *w, const struct scan_place *dir, struct merge *merge, struct err *err)
{
	if (!dir->adopting || dir->adopt.content == ENTRY_UNREAD)
		return 0;
	int r = treeiter_open(&w->adopt, &dir->adopt, err);
	merge->more_adopted = r >= 0;
	return r < 0 ? r : 0;
}

static void list_only(struct scan_walker *w, const char *name)
{
	size_t len = strlen(name);

	buf_clear(&w->names);
	buf_add(&w->names, name, len + 1);
	w->n_list = 0;
	mem_grow(&w->list, &w->cap_list, w->n_list);
	w->list[w->n_list++] = (struct scan_name){ 0, (uint16_t)len };
}

static int list_names(struct scan_walker *w, const struct scan_place *dir)
{
	const char *only = w->state->options->only;

	if (only && !dir->parent) {
		list_only(w, only);
		return 0;
	}
	int r = read_names(w, dir->fd);
	return r < 0 ? r : may_search(w, dir->fd);
}

static int write_names(struct scan_walker *w, struct scan_place *dir, struct windex_dir *row,
	struct merge *merge, struct err *err)
{
	if (!w->n_list)
		return 0;
	int r = windex_writer_begin(&w->out, &row->segment);
	if (r < 0)
		return index_failed(r, err);
	r = scan_names(w, dir, merge, err);
	windex_writer_end(&w->out);
	return r;
}

/* Complete the row of a directory: mark it dirty, or set its tree. */
static int finish_row(struct scan_walker *w, const struct scan_place *dir, struct merge *merge,
	const struct windex_dir *old, struct windex_dir *row, struct err *err)
{
	bool unread = dir->adopting && dir->adopt.content == ENTRY_UNREAD;

	/* Names that are left in the old list have been deleted. */
	if (merge->more_old && (merge->have_old || windex_reader_next(&w->old, &merge->old) > 0))
		merge->dirty = true;
	/*
	 * An empty directory that stands in for an unread one is not dirty itself.  If its name is
	 * new or has changed, the parent directory is dirty.
	 */
	if (!w->n_list && (unread || old->flags & WINDEX_DIR_STAND_IN)) {
		row->flags = WINDEX_DIR_UNREAD | WINDEX_DIR_STAND_IN;
		return 0;
	}
	if (old->flags & (WINDEX_DIR_UNREAD | WINDEX_DIR_LOST))
		merge->dirty = true;
	int r = is_wholly_adopted(w, dir, merge, err);
	if (r < 0)
		return r;
	if (r > 0) {
		row->flags |= WINDEX_DIR_ADOPTED;
		row->tree = dir->adopt.hash;
		row->count = dir->adopt.count;
		row->size = dir->adopt.size;
	} else if (merge->dirty) {
		row->flags |= WINDEX_DIR_DIRTY;
	} else {
		row->tree = old->tree;
		row->count = old->count;
		row->size = old->size;
	}
	row->flags |= merge->partial ? WINDEX_DIR_PARTIAL : 0;
	return 0;
}

int scan_dir_look(struct scan_walker *w, struct scan_place *dir, struct err *err)
{
	struct scan_state *state = w->state;
	struct windex_dir *row = windex_dir(state->index, dir->id);
	struct windex_dir old;
	struct merge merge;
	bool disturbed;

	if (dir->listed)
		dir->listed = scan_dir_recall(w, dir, &disturbed);
	start_merge(w, dir, &merge, &old);
	int r = start_adopting(w, dir, &merge, err);
	if (r < 0)
		return r;
	r = dir->quiet || dir->listed ? 0 : list_names(w, dir);
	if (r < 0) {
		errno = -r;
		report_add(state->options->report, REPORT_UNREADABLE, scan_path(w, dir, STR("")),
			"list: %m");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_UNREAD;
		return 0;
	}
	r = write_names(w, dir, row, &merge, err);
	if (state->options->progress)
		atomic_fetch_add(state->options->progress, w->n_list);
	if (r >= 0)
		r = finish_row(w, dir, &merge, &old, row, err);
	if (r < 0)
		free_children(&merge.children);
	else
		scan_push(state, dir, &merge.children);
	return r;
}

int scan_dir_root(
	struct scan_walker *w, const struct statx *stx, struct scan_place **root, struct err *err)
{
	const struct scan_options *options = w->state->options;
	struct windex_dir *row = windex_dir(w->state->index, 0);
	struct scan_place top = { .path = ENTRY_PATH_ROOT, .fd = -1 };
	struct merge merge = { 0 };
	struct windex_dir old;
	int r;

	if (options->old && windex_get_dir(options->old, 0, &old)) {
		windex_reader_begin(&w->old, old.segment);
		merge.more_old = true;
	}
	if (options->adopt) {
		r = treeiter_root(&w->adopt, options->adopt, &merge.adopted, err);
		if (r < 0)
			return r;
		merge.have_adopted = merge.more_adopted = true;
	}
	r = windex_writer_begin(&w->out, &row->segment);
	if (r < 0)
		return index_failed(r, err);
	r = scan_name(w, &top, options->fd, ".", STR(""), stx, &merge, err);
	windex_writer_end(&w->out);
	if (r < 0) {
		free_children(&merge.children);
		return r;
	}
	if (merge.n_adopted) {
		row->flags |= WINDEX_DIR_ADOPTED;
		row->tree = *options->adopt;
	} else if (merge.dirty || !merge.more_old) {
		row->flags |= WINDEX_DIR_DIRTY;
	} else {
		row->tree = old.tree;
	}
	*root = merge.children.first;
	(*root)->parent = NULL;
	(*root)->path = ENTRY_PATH_ROOT;
	return 0;
}
