/*
 * Threads take directories from a shared stack (last in, first out, so that
 * few are open at a time), list and stat them, write the records of each in
 * one go, and push the subdirectories.  A directory row is dirty when its
 * list differs from the old one; dirt is carried up to the root at the end, in
 * one pass, since parents have smaller ids.
 *
 * Adoption.  After a checkout the files on disk are new to the index, yet we know
 * what they hold: we wrote it.  With options.adopt, an entry that is not as the old index says,
 * but has the type, size and mtime of its entry in that tree and was changed
 * since adopt_since, gets the tree's content hash without being read, and the
 * attributes this machine would not take become an override.
 *
 * Quiet directories.  Where the file system tells which inodes changed since
 * the old index was made (options.changed), a directory that is not one of them
 * still has the names the old index lists, and of those only the changed are looked
 * at.  It is not even opened when there are none.
 */
#include "tree/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "core/text.h"
#include "core/zip.h"
#include "tree/treeiter.h"
#include "tree/xattrs.h"

#define SECOND INT64_C(1000000000)
#define RACY_MARGIN INT64_C(20000000) /* two ticks of the slowest kernel clock */
#define RACY_COARSE (2 * SECOND)      /* file systems that keep whole seconds */
#define DENTS_SIZE ((size_t)64 << 10)
#define HELP_FROM 256 /* directories, before other threads are worth their start */

/* A directory on its way: on the stack, being read, or parent of one that is. */
struct place {
	struct place *parent;
	struct place *below; /* next on the stack */
	struct str name;
	uint32_t id;
	uint32_t old_id; /* WINDEX_NO_DIR: new */
	uint64_t path;   /* hash */
	int fd;
	int unopened; /* children that still need fd */
	int refs;
	bool quiet;
	bool listed; /* its names are those of the old index */
	bool adopting;
	struct entry adopt; /* directory of the adopted tree; no strings */
	char bytes[];
};

struct state {
	const struct scan_options *options;
	struct windex *index;
	uint64_t mnt_id;
	int64_t trusted; /* ctimes before this are safe to compare */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct place *stack;
	unsigned pushed; /* until there are helpers */
	unsigned busy;
	bool stop;
	struct err err;
	struct scan *scan;
};

struct helpers {
	pthread_t threads[PAR_MAX];
	unsigned n;
	bool called;
};

struct name {
	uint32_t offset;
	uint16_t len;
};

/* What one thread works with. */
struct walker {
	struct state *state;
	struct windex_writer out;
	struct windex_reader old;
	struct treeiter adopt;
	struct buf names;
	struct name *list;
	size_t n_list, cap_list;
	char *dents;
	struct buf xattrs;
	struct buf path;
	struct scan_link *links;
	size_t n_links, cap_links;
};

int64_t scan_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* --------------------------------------------------------------- the places */

static void append_path(struct buf *out, const struct place *place)
{
	if (!place || !place->parent)
		return;
	append_path(out, place->parent);
	if (out->len)
		buf_addc(out, '/');
	buf_add(out, place->name.ptr, place->name.len);
}

static struct str path_of(struct walker *w, const struct place *dir, struct str name)
{
	buf_clear(&w->path);
	append_path(&w->path, dir);
	if (w->path.len && name.len)
		buf_addc(&w->path, '/');
	buf_add(&w->path, name.ptr, name.len);
	return (struct str){ w->path.data, w->path.len };
}

static void unref(struct state *state, struct place *place)
{
	while (place) {
		struct place *parent = place->parent;

		pthread_mutex_lock(&state->lock);
		int left = --place->refs;
		pthread_mutex_unlock(&state->lock);
		if (left)
			return;
		close_fd(&place->fd);
		free(place);
		place = parent;
	}
}

/* A child no longer needs its parent's descriptor. */
static void opened(struct state *state, struct place *parent)
{
	if (!parent)
		return;
	pthread_mutex_lock(&state->lock);
	if (!--parent->unopened)
		close_fd(&parent->fd);
	pthread_mutex_unlock(&state->lock);
}

static struct place *new_place(struct place *parent, struct str name, uint32_t id)
{
	struct place *place = mem_zalloc(sizeof(*place) + name.len + 1);

	memcpy(place->bytes, name.ptr, name.len);
	place->name = (struct str){ place->bytes, name.len };
	place->parent = parent;
	place->id = id;
	place->old_id = WINDEX_NO_DIR;
	place->fd = -1;
	place->refs = 1;
	return place;
}

static void fail(struct state *state, const struct err *err)
{
	pthread_mutex_lock(&state->lock);
	/* Not by stop, which also says that the walk came to its end. */
	if (!state->err.code)
		state->err = *err;
	state->stop = true;
	pthread_cond_broadcast(&state->wake);
	pthread_mutex_unlock(&state->lock);
}

/* -------------------------------------------------------------- one directory */

static int by_bytes(const void *a, const void *b, void *base)
{
	const struct name *x = a, *y = b;

	return str_cmp((struct str){ (char *)base + x->offset, x->len },
		(struct str){ (char *)base + y->offset, y->len });
}

static int read_names(struct walker *w, int fd)
{
	buf_clear(&w->names);
	w->n_list = 0;
	for (;;) {
		long n = syscall(SYS_getdents64, fd, w->dents, DENTS_SIZE);

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
				(struct name){ (uint32_t)w->names.len, (uint16_t)len };
			buf_add(&w->names, d->d_name, len + 1);
			if (w->names.overflowed)
				return -E2BIG;
		}
	}
	if (w->n_list)
		qsort_r(w->list, w->n_list, sizeof(*w->list), by_bytes, w->names.data);
	return 0;
}

/*
 * Names that may be listed but not looked at are as good as unread: without
 * this the directory would seem empty and its files deleted.
 */
static int may_search(struct walker *w, int fd)
{
	struct statx stx;

	if (!w->n_list || !geteuid())
		return 0;
	return at_name_stat(fd, w->names.data + w->list[0].offset, &stx) == -EACCES ? -EACCES : 0;
}

static bool excluded(struct walker *w, const struct place *dir, struct str name)
{
	const struct scan_options *options = w->state->options;

	for (size_t i = 0; i < options->n_exclude; i++) {
		struct str pattern = str_of(options->exclude[i]);
		bool anywhere = !memchr(pattern.ptr, '/', pattern.len);

		if (text_glob(pattern, anywhere ? name : path_of(w, dir, name)))
			return true;
	}
	return false;
}

static bool skipped(const struct scan_options *options, const struct statx *stx)
{
	for (size_t i = 0; i < options->n_skip; i++)
		if (options->skip[i].ino == stx->stx_ino &&
			options->skip[i].dev_major == stx->stx_dev_major &&
			options->skip[i].dev_minor == stx->stx_dev_minor)
			return true;
	return false;
}

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
		record->size = 0; /* differs between file systems and means nothing */
	if (record->type != ENTRY_DIR && stx->stx_nlink > 1)
		record->flags |= WINDEX_LINKED;
}

static bool unchanged(
	const struct state *state, const struct windex_record *now, const struct windex_record *old)
{
	int64_t ctime = old->ctime_sec * SECOND + old->ctime_nsec;
	int64_t slack = old->ctime_nsec ? 0 : RACY_COARSE;

	return now->ino == old->ino && now->size == old->size && now->type == old->type &&
	       now->ctime_sec == old->ctime_sec && now->ctime_nsec == old->ctime_nsec &&
	       now->mtime_sec == old->mtime_sec && now->mtime_nsec == old->mtime_nsec &&
	       now->mode == old->mode &&
	       (state->options->other_ids || (now->uid == old->uid && now->gid == old->gid)) &&
	       !(old->flags & WINDEX_UNHASHED) && ctime < state->trusted - slack;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool may_have_changed(const struct scan_options *options, uint64_t ino)
{
	const struct scan_inodes *changed = options->changed;

	return !changed || (changed->n && bsearch(&ino, changed->list, changed->n,
						  sizeof(*changed->list), by_number));
}

static bool must_look(const struct scan_options *options, const struct windex_record *old)
{
	return old->flags & WINDEX_UNHASHED || may_have_changed(options, old->ino);
}

/*
 * List a directory as the old index does.  False when it cannot; else
 * *disturbed says whether there is something to look at.
 */
static bool old_names(struct walker *w, const struct place *dir, bool *disturbed)
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
			(struct name){ (uint32_t)w->names.len, (uint16_t)item.name.len };
		buf_add(&w->names, item.name.ptr, item.name.len);
		buf_addc(&w->names, '\0');
		if (must_look(options, &item.record))
			*disturbed = true;
	}
	return !w->old.damaged && !w->names.overflowed;
}

/* Keep saying what the history says where nobody has touched what we could not express. */
static bool carry_override(const struct windex_record *now, const struct hash *found,
	const struct windex_item *old, struct windex_override *wanted, struct hash *xattrs)
{
	const struct windex_record *was = &old->record;

	if (!(was->flags & WINDEX_OVERRIDE) || was->type != now->type)
		return false;
	*wanted = old->override;
	wanted->found_xattrs = *found;
	if (now->uid != was->uid)
		wanted->uid = now->uid;
	if (now->gid != was->gid)
		wanted->gid = now->gid;
	if (now->mode != was->mode)
		wanted->mode = now->mode;
	/* A stand-in stays one until it gets content or is replaced. */
	if (now->ino != was->ino || now->size) {
		wanted->type = now->type;
		wanted->unread = false;
	}
	*xattrs = hash_eq(found, &old->override.found_xattrs) ? old->xattrs : *found;
	return true;
}

static bool override_needed(const struct windex_override *wanted, const struct windex_record *now,
	const struct hash *xattrs)
{
	return wanted->type != now->type || wanted->unread || wanted->uid != now->uid ||
	       wanted->gid != now->gid || wanted->mode != now->mode ||
	       !hash_eq(&wanted->found_xattrs, xattrs);
}

/* What treeapply makes where it cannot make the thing itself: an empty file. */
static bool needs_stand_in(const struct entry *entry)
{
	return entry->type == ENTRY_CHAR || entry->type == ENTRY_BLOCK ||
	       (entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD);
}

/* Whether this is what treeapply made of the adopted entry. */
static bool adoptable(
	const struct state *state, const struct windex_record *now, const struct entry *entry)
{
	if (now->ctime_sec * SECOND + now->ctime_nsec < state->options->adopt_since ||
		now->mtime_sec != entry->mtime_sec || now->mtime_nsec != entry->mtime_nsec)
		return false;
	if (needs_stand_in(entry) && now->type == ENTRY_FILE)
		return !now->size;
	if (now->type != entry->type)
		return false;
	switch (now->type) {
	case ENTRY_FILE:
	case ENTRY_LINK:
		return now->size == entry->size;
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		return now->size == ((uint64_t)entry->major << 32 | entry->minor);
	default:
		return true;
	}
}

static void adopt_entry(struct windex_record *now, const struct entry *entry,
	const struct hash *found, struct windex_override *wanted, struct hash *xattrs)
{
	now->link = entry->link;
	if (now->type == ENTRY_FILE && entry->type == ENTRY_FILE) {
		bool unread = entry->content == ENTRY_UNREAD;

		now->hash = entry->hash;
		now->content = unread ? ENTRY_EMPTY : (uint8_t)entry->content;
	}
	now->flags &= (uint16_t)~WINDEX_UNHASHED;
	*wanted = (struct windex_override){
		.type = (uint8_t)entry->type,
		.unread = entry->type == ENTRY_FILE && entry->content == ENTRY_UNREAD,
		.size = entry->size,
		.mode = (uint16_t)entry->mode,
		.uid = entry->uid,
		.gid = entry->gid,
		.major = entry->major,
		.minor = entry->minor,
		.found_xattrs = *found,
	};
	*xattrs = entry->xattrs;
}

static int read_xattrs(struct walker *w, const struct place *dir, int dirfd, const char *name,
	struct str shown, struct hash *found, struct err *err)
{
	int n;

	memset(found, 0, sizeof(*found));
	buf_clear(&w->xattrs);
	n = xattrs_read(dirfd, name, w->state->options->upper, &w->xattrs);
	if (n < 0 && n != -ENOENT) {
		errno = -n;
		report_add(w->state->options->report, REPORT_UNREADABLE, path_of(w, dir, shown),
			"extended attributes: %m");
	}
	if (n <= 0)
		return 0;
	return store_put(
		w->state->options->store, OBJECT_XATTRS, w->xattrs.data, w->xattrs.len, found, err);
}

/* Step the adopted tree forward to name; 1 when it has it. */
static int adopt_seek(struct walker *w, bool *open, struct entry *entry, bool *have,
	struct str name, struct err *err)
{
	while (*open) {
		if (!*have) {
			int r = treeiter_next(&w->adopt, entry, err);

			if (r < 0)
				return r;
			*open = *have = r > 0;
			continue;
		}
		int order = str_cmp(entry->name, name);
		if (order >= 0)
			return order == 0;
		*have = false;
	}
	return 0;
}

static void note_link(struct walker *w, const struct place *dir, struct str name,
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

/* The children of the directory being read, not yet on the stack. */
struct children {
	struct place *first;
	int count;
};

static void add_child(struct children *children, struct place *dir, struct str name,
	struct windex_record *record, uint32_t old_id, const struct entry *adopt,
	struct windex *index)
{
	struct place *child = new_place(dir, name, windex_add_dir(index, dir->id));

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

/* State of the merge of one directory's names with its old list and the adopted one. */
struct merge {
	struct windex_item old;
	bool have_old, more_old;
	struct entry adopted;
	bool have_adopted, more_adopted;
	bool dirty;
	bool partial;     /* a name was left out */
	size_t n_names;   /* recorded */
	size_t n_adopted; /* of them, taken over from the adopted tree */
	struct children children;
};

/* Advance the old list to name; true when it has it.  Names it has and we do not are deletions. */
static bool old_seek(struct walker *w, struct merge *merge, struct str name)
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

/* Without stx it is as the old list has it. */
static int scan_name(struct walker *w, struct place *dir, int dirfd, const char *cname,
	struct str name, const struct statx *stx, struct merge *merge, struct err *err)
{
	struct state *state = w->state;
	struct windex_override wanted;
	struct windex_record now;
	struct hash xattrs = { 0 };
	bool override = false;
	int adopted = 0;
	bool known = old_seek(w, merge, name);
	bool same = known && !stx;

	if (stx) {
		record_from_stat(&now, stx);
		same = known && unchanged(state, &now, &merge->old.record);
	} else {
		now = merge->old.record;
	}
	if (merge->more_adopted && (!same || now.type == ENTRY_DIR)) {
		adopted = adopt_seek(
			w, &merge->more_adopted, &merge->adopted, &merge->have_adopted, name, err);
		if (adopted < 0)
			return adopted;
	}
	if (same) {
		now.hash = merge->old.record.hash;
		now.content = merge->old.record.content;
		now.link = merge->old.record.link;
		now.flags |= merge->old.record.flags & WINDEX_NO_LINKS;
		now.uid = merge->old.record.uid;
		now.gid = merge->old.record.gid;
		xattrs = merge->old.xattrs;
		override = merge->old.record.flags & WINDEX_OVERRIDE;
		wanted = merge->old.override;
	} else {
		struct hash found;
		int r = read_xattrs(w, dir, dirfd, cname, name, &found, err);

		if (r < 0)
			return r;
		merge->dirty = true;
		xattrs = found;
		if (now.type == ENTRY_FILE)
			now.flags |= WINDEX_UNHASHED;
		if (adopted && adoptable(state, &now, &merge->adopted)) {
			adopt_entry(&now, &merge->adopted, &found, &wanted, &xattrs);
			override = override_needed(&wanted, &now, &xattrs);
			merge->n_adopted++;
		} else if (known) {
			override = carry_override(&now, &found, &merge->old, &wanted, &xattrs) &&
				   override_needed(&wanted, &now, &xattrs);
			/* A stand-in, which is empty, has nothing to read. */
			if (override && (wanted.unread || wanted.type != now.type))
				now.flags &= (uint16_t)~WINDEX_UNHASHED;
		}
	}
	if (now.type == ENTRY_DIR) {
		bool had = known && merge->old.record.type == ENTRY_DIR;

		add_child(&merge->children, dir, name, &now,
			had ? (uint32_t)merge->old.record.link : WINDEX_NO_DIR,
			adopted ? &merge->adopted : NULL, state->index);
		/* Names that come or go change the times of a directory. */
		merge->children.first->listed = same && state->options->upper;
		merge->children.first->quiet = had && now.ino == merge->old.record.ino &&
					       !may_have_changed(state->options, now.ino);
	} else if (now.flags & WINDEX_LINKED) {
		note_link(w, dir, name, &now);
	}
	if (known)
		merge->have_old = false;
	merge->n_names++;
	int r = windex_writer_add(&w->out, &now, &xattrs, override ? &wanted : NULL, name);
	if (r < 0) {
		errno = -r;
		return err_errno(err, "write the workspace index");
	}
	return 0;
}

/* Whether an entry of a quiet directory is as the old list has it. */
static bool undisturbed(
	struct walker *w, const struct place *dir, struct merge *merge, struct str name)
{
	return dir->quiet && old_seek(w, merge, name) &&
	       !must_look(w->state->options, &merge->old.record);
}

static int scan_names(struct walker *w, struct place *dir, struct merge *merge, struct err *err)
{
	struct state *state = w->state;

	for (size_t i = 0; i < w->n_list; i++) {
		const char *cname = w->names.data + w->list[i].offset;
		struct str name = { cname, w->list[i].len };
		struct statx stx;
		int r;

		if (state->options->n_exclude && excluded(w, dir, name))
			continue;
		if (undisturbed(w, dir, merge, name)) {
			r = scan_name(w, dir, dir->fd, cname, name, NULL, merge, err);
			if (r < 0)
				return r;
			continue;
		}
		r = at_name_stat(dir->fd, cname, &stx);
		if (r == -ENOENT) {
			report_add(state->options->report, REPORT_VANISHED, path_of(w, dir, name),
				"gone before it was looked at");
			merge->dirty = merge->partial = true;
			continue;
		}
		if (r < 0) {
			errno = -r;
			report_add(state->options->report, REPORT_UNREADABLE, path_of(w, dir, name),
				"stat: %m");
			merge->dirty = merge->partial = true;
			continue;
		}
		if (S_ISDIR(stx.stx_mode) && skipped(state->options, &stx))
			continue;
		r = scan_name(w, dir, dir->fd, cname, name, &stx, merge, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void push_children(struct state *state, struct place *dir, struct children *children)
{
	if (!children->count)
		return;
	pthread_mutex_lock(&state->lock);
	dir->unopened = children->count;
	dir->refs += children->count;
	state->pushed += (unsigned)children->count;
	while (children->first) {
		struct place *child = children->first;

		children->first = child->below;
		child->below = state->stack;
		state->stack = child;
	}
	pthread_cond_broadcast(&state->wake);
	pthread_mutex_unlock(&state->lock);
}

static void free_children(struct children *children)
{
	while (children->first) {
		struct place *next = children->first->below;

		free(children->first);
		children->first = next;
	}
}

static void start_merge(
	struct walker *w, struct place *dir, struct merge *merge, struct windex_dir *old)
{
	bool had = dir->old_id != WINDEX_NO_DIR && w->state->options->old &&
		   windex_get_dir(w->state->options->old, dir->old_id, old) &&
		   !(old->flags & (WINDEX_DIR_GONE | WINDEX_DIR_DIRTY));

	*merge = (struct merge){ 0 };
	if (had) {
		windex_reader_begin(&w->old, old->segment);
		merge->more_old = true;
		/* The old index already describes the adopted tree from here down. */
		if (dir->adopting && !(old->flags & WINDEX_DIR_UNREAD) &&
			hash_eq(&old->tree, &dir->adopt.hash))
			dir->adopting = false;
	} else {
		*old = (struct windex_dir){ .flags = WINDEX_DIR_DIRTY };
		merge->dirty = true;
	}
}

/* Whether a directory is, entry for entry, the adopted one: 1 or 0. */
static int wholly_adopted(
	struct walker *w, const struct place *dir, struct merge *merge, struct err *err)
{
	struct entry more;

	if (!dir->adopting || merge->n_adopted != merge->n_names)
		return 0;
	/* The last name looked for may still be in hand, and anything behind it is not there. */
	if (merge->have_adopted && !merge->n_names)
		return 0;
	int r = merge->more_adopted ? treeiter_next(&w->adopt, &more, err) : 0;
	return r < 0 ? r : r == 0;
}

static int scan_dir(struct walker *w, struct place *dir, struct err *err)
{
	struct state *state = w->state;
	struct windex_dir *row = windex_dir(state->index, dir->id);
	struct windex_dir old;
	struct merge merge;
	bool disturbed;
	int r;

	if (dir->listed)
		dir->listed = old_names(w, dir, &disturbed);
	bool known = dir->quiet || dir->listed;
	start_merge(w, dir, &merge, &old);
	bool unread = dir->adopting && dir->adopt.content == ENTRY_UNREAD;
	if (dir->adopting && !unread) {
		r = treeiter_open(&w->adopt, &dir->adopt, err);
		if (r < 0)
			return r;
		merge.more_adopted = true;
	}
	r = known ? 0 : read_names(w, dir->fd);
	if (r == 0 && !known)
		r = may_search(w, dir->fd);
	if (r < 0) {
		errno = -r;
		report_add(state->options->report, REPORT_UNREADABLE, path_of(w, dir, STR("")),
			"list: %m");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_UNREAD;
		return 0;
	}
	if (w->n_list) {
		r = windex_writer_begin(&w->out, &row->segment);
		if (r < 0) {
			errno = -r;
			return err_errno(err, "write the workspace index");
		}
		r = scan_names(w, dir, &merge, err);
		windex_writer_end(&w->out);
		if (r < 0) {
			free_children(&merge.children);
			return r;
		}
	}
	if (state->options->progress)
		atomic_fetch_add(state->options->progress, w->n_list);
	/* Anything left in the old list has been deleted. */
	if (merge.more_old && (merge.have_old || windex_reader_next(&w->old, &merge.old) > 0))
		merge.dirty = true;
	/* Not dirty itself: where it is new or was another thing, its own entry says so above. */
	if (!w->n_list && (unread || old.flags & WINDEX_DIR_STAND_IN)) {
		row->flags = WINDEX_DIR_UNREAD | WINDEX_DIR_STAND_IN;
		return 0;
	}
	if (old.flags & (WINDEX_DIR_UNREAD | WINDEX_DIR_LOST))
		merge.dirty = true;
	r = wholly_adopted(w, dir, &merge, err);
	if (r < 0) {
		free_children(&merge.children);
		return r;
	}
	if (r > 0) {
		row->flags |= WINDEX_DIR_ADOPTED;
		row->tree = dir->adopt.hash;
		row->count = dir->adopt.count;
		row->size = dir->adopt.size;
	} else if (merge.dirty) {
		row->flags |= WINDEX_DIR_DIRTY;
	} else {
		row->tree = old.tree;
		row->count = old.count;
		row->size = old.size;
	}
	row->flags |= merge.partial ? WINDEX_DIR_PARTIAL : 0;
	push_children(state, dir, &merge.children);
	return 0;
}

/* From its parent, or from the top where that is quiet and was not opened itself. */
static int open_name(struct walker *w, const struct place *dir, int flags)
{
	struct err err = { 0 };

	if (dir->parent->fd >= 0)
		return at_name_open(dir->parent->fd, dir->name.ptr, flags);
	int fd = at_open(w->state->options->fd, path_of(w, dir, STR("")).ptr, flags, &err);
	if (fd >= 0)
		return fd;
	return err.errno_value ? -err.errno_value : -ENOENT;
}

/* Open a place; 1 ready, 0 it is to be left alone (and the row says why), negative errno: we cannot
 * go on. */
static int open_place(struct walker *w, struct place *dir)
{
	struct state *state = w->state;
	struct windex_dir *row = windex_dir(state->index, dir->id);
	struct statx stx;

	if (!dir->parent)
		return 1;
	int fd = open_name(w, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOATIME);
	if (fd == -EPERM)
		fd = open_name(w, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	opened(state, dir->parent);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		report_add(state->options->report, REPORT_VANISHED, path_of(w, dir, STR("")),
			"the directory went away");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_GONE;
		return 0;
	}
	if (at_scarce(-fd))
		return fd;
	if (fd < 0) {
		errno = -fd;
		report_add(state->options->report, REPORT_UNREADABLE, path_of(w, dir, STR("")),
			"open: %m");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_UNREAD;
		return 0;
	}
	dir->fd = fd;
	if (at_fd_stat(fd, &stx) < 0 || stx.stx_mnt_id != state->mnt_id) {
		report_add(state->options->report, REPORT_LEFT_OUT, path_of(w, dir, STR("")),
			"another file system is mounted here");
		row->flags = WINDEX_DIR_DIRTY;
		return 0;
	}
	return 1;
}

/* As open_place, but for a directory that is known without. */
static int enter_place(struct walker *w, struct place *dir)
{
	bool disturbed = true;

	if (dir->quiet)
		dir->quiet = old_names(w, dir, &disturbed);
	if (!dir->quiet || disturbed)
		return open_place(w, dir);
	opened(w->state, dir->parent);
	return 1;
}

static struct place *next_place(struct state *state)
{
	struct place *place = NULL;

	pthread_mutex_lock(&state->lock);
	state->busy--;
	for (;;) {
		if (state->stop)
			break;
		if (state->stack) {
			place = state->stack;
			state->stack = place->below;
			state->busy++;
			break;
		}
		if (!state->busy) {
			state->stop = true;
			pthread_cond_broadcast(&state->wake);
			break;
		}
		pthread_cond_wait(&state->wake, &state->lock);
	}
	pthread_mutex_unlock(&state->lock);
	return place;
}

static void walker_init(struct walker *w, struct state *state)
{
	memset(w, 0, sizeof(*w));
	w->state = state;
	w->names.max = w->xattrs.max = w->path.max = BUF_MAX;
	w->dents = mem_alloc(DENTS_SIZE);
	windex_writer_init(&w->out, state->index);
	windex_reader_init(&w->old, state->options->old);
	treeiter_init(&w->adopt, state->options->store);
}

static void walker_finish(struct walker *w)
{
	struct scan *scan = w->state->scan;
	struct err err = { 0 };
	int r = windex_writer_finish(&w->out);

	if (r < 0) {
		errno = -r;
		err_errno(&err, "write the workspace index");
		fail(w->state, &err);
	}
	pthread_mutex_lock(&w->state->lock);
	for (size_t i = 0; i < w->n_links; i++) {
		mem_grow(&scan->links, &scan->cap_links, scan->n_links);
		scan->links[scan->n_links++] = w->links[i];
	}
	pthread_mutex_unlock(&w->state->lock);
	windex_reader_release(&w->old);
	treeiter_release(&w->adopt);
	buf_release(&w->names);
	buf_release(&w->xattrs);
	buf_release(&w->path);
	free(w->list);
	free(w->dents);
	free(w->links);
}

static void *help(void *arg);

/* Others take part from now on; they count themselves as busy before they start. */
static void call_helpers(struct state *state, struct helpers *helpers)
{
	unsigned want = par_cpus();

	helpers->called = true;
	for (unsigned i = 1; i < want; i++) {
		pthread_mutex_lock(&state->lock);
		state->busy++;
		pthread_mutex_unlock(&state->lock);
		if (pthread_create(&helpers->threads[helpers->n], NULL, help, state)) {
			pthread_mutex_lock(&state->lock);
			state->busy--;
			pthread_mutex_unlock(&state->lock);
			break;
		}
		helpers->n++;
	}
}

/* helpers: whom this thread may call, or NULL. */
static void walk(struct state *state, struct helpers *helpers)
{
	struct walker w;
	struct place *dir;
	struct err err = { 0 };

	walker_init(&w, state);
	while ((dir = next_place(state))) {
		if (helpers && !helpers->called && state->pushed >= HELP_FROM)
			call_helpers(state, helpers);
		int ready = enter_place(&w, dir);

		if (ready < 0) {
			errno = -ready;
			err_errno(&err, "open a directory");
		}
		if (ready < 0 || (ready > 0 && scan_dir(&w, dir, &err) < 0))
			fail(state, &err);
		pthread_mutex_lock(&state->lock);
		if (!dir->unopened)
			close_fd(&dir->fd);
		pthread_mutex_unlock(&state->lock);
		unref(state, dir);
	}
	walker_finish(&w);
	zip_thread_end();
}

static void *help(void *arg)
{
	walk(arg, NULL);
	return NULL;
}

/* --------------------------------------------------------------- the whole */

/* The root goes into the pseudo-directory 0 like any other entry. */
static int scan_root(struct state *state, struct err *err)
{
	const struct scan_options *options = state->options;
	struct merge merge = { 0 };
	struct place *top = new_place(NULL, STR(""), 0);
	struct windex_dir *row = windex_dir(state->index, 0);
	struct windex_dir old;
	struct walker w;
	struct statx stx;
	int r;

	walker_init(&w, state);
	r = at_fd_stat(options->fd, &stx);
	if (r < 0) {
		errno = -r;
		r = err_errno(err, "stat the tree");
		goto out;
	}
	state->mnt_id = stx.stx_mnt_id;
	if (options->old && windex_get_dir(options->old, 0, &old)) {
		windex_reader_begin(&w.old, old.segment);
		merge.more_old = true;
	}
	if (options->adopt) {
		r = treeiter_root(&w.adopt, options->adopt, &merge.adopted, err);
		if (r < 0)
			goto out;
		merge.have_adopted = merge.more_adopted = true;
	}
	r = windex_writer_begin(&w.out, &row->segment);
	if (r < 0) {
		errno = -r;
		r = err_errno(err, "write the workspace index");
		goto out;
	}
	top->path = ENTRY_PATH_ROOT;
	r = scan_name(&w, top, options->fd, ".", STR(""), &stx, &merge, err);
	windex_writer_end(&w.out);
	if (r < 0) {
		free_children(&merge.children);
		goto out;
	}
	if (merge.n_adopted) {
		row->flags |= WINDEX_DIR_ADOPTED;
		row->tree = *options->adopt;
	} else if (merge.dirty || !merge.more_old)
		row->flags |= WINDEX_DIR_DIRTY;
	else
		row->tree = old.tree;

	struct place *root = merge.children.first;
	root->fd = fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
	root->parent = NULL;
	root->path = ENTRY_PATH_ROOT;
	state->stack = root;
	r = root->fd < 0 ? err_errno(err, "open the tree") : 0;
	if (r >= 0 && lseek(root->fd, 0, SEEK_SET) < 0)
		r = err_errno(err, "rewind the tree");
	if (r < 0) {
		state->stack = NULL;
		close_fd(&root->fd);
		free(root);
	}
out:
	walker_finish(&w);
	free(top);
	return r;
}

static int by_inode(const void *a, const void *b)
{
	const struct scan_link *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Work out the group of each linked inode; a directory whose record has another is dirty. */
static void settle_links(struct scan *scan)
{
	if (scan->n_links)
		qsort(scan->links, scan->n_links, sizeof(*scan->links), by_inode);
	for (size_t i = 0, end; i < scan->n_links; i = end) {
		uint64_t group = 0;

		for (end = i; end < scan->n_links && scan->links[end].ino == scan->links[i].ino;
			end++)
			group += scan->links[end].path;
		if (end - i < 2)
			group = 0; /* its other names are outside the tree */
		else if (!group)
			group = 1;
		for (size_t k = i; k < end; k++) {
			if (scan->links[k].group != group)
				windex_dir(scan->index, scan->links[k].dir)->flags |=
					WINDEX_DIR_DIRTY;
			scan->links[k].group = group;
		}
	}
}

/*
 * A directory with a dirty one below is dirty.  One with an adopted one below
 * is, too, unless it was adopted whole itself.
 */
static void carry_dirt_up(struct windex *index)
{
	const uint32_t both = WINDEX_DIR_DIRTY | WINDEX_DIR_ADOPTED;

	for (uint32_t id = windex_dirs(index); id-- > 0;) {
		struct windex_dir *row = windex_dir(index, id);
		struct windex_dir *parent = windex_dir(index, row->parent);

		if (id && (row->flags & WINDEX_DIR_DIRTY ||
				  (row->flags & WINDEX_DIR_ADOPTED && !(parent->flags & both))))
			parent->flags |= WINDEX_DIR_DIRTY;
		row->flags &= ~(uint32_t)WINDEX_DIR_ADOPTED;
	}
}

uint64_t scan_group(const struct scan *scan, uint64_t ino)
{
	size_t low = 0, high = scan->n_links;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (scan->links[middle].ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scan->n_links && scan->links[low].ino == ino ? scan->links[low].group : 0;
}

void scan_release(struct scan *scan)
{
	windex_close(scan->index);
	free(scan->links);
	*scan = (struct scan){ 0 };
}

int scan_run(const struct scan_options *options, int spool_take, struct scan *scan, struct err *err)
{
	int64_t now = scan_clock();
	struct state state = {
		.options = options,
		.index = windex_new_take(spool_take, now),
		.trusted = options->old ? windex_stamp(options->old) - RACY_MARGIN : 0,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.wake = PTHREAD_COND_INITIALIZER,
		.scan = scan,
	};
	struct helpers helpers = { 0 };

	*scan = (struct scan){ .index = state.index };
	/* Reserve row 0 for the pseudo-directory. */
	windex_add_dir(state.index, 0);
	int r = scan_root(&state, err);
	if (r < 0)
		goto out;
	state.busy = 1; /* this thread */
	walk(&state, &helpers);
	for (unsigned i = 0; i < helpers.n; i++)
		pthread_join(helpers.threads[i], NULL);
	/* After a failure, places nobody took are left over. */
	while (state.stack) {
		struct place *place = state.stack;

		state.stack = place->below;
		unref(&state, place);
	}
	if (state.err.code) {
		*err = state.err;
		r = -(int)err->code;
		goto out;
	}
	settle_links(scan);
	carry_dirt_up(state.index);
out:
	if (r < 0)
		scan_release(scan);
	return r;
}
