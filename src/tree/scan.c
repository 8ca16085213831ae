/*
 * Threads take directories from a shared stack.  The directory that was pushed last is taken first,
 * so that few directories are open at a time.  For each directory, a thread lists and stats the
 * names, writes their records at once and pushes the subdirectories.  The directory's row in the
 * index becomes dirty if the list of names and records differs from the old list.  At the end, one
 * pass marks the parents of dirty rows.  This pass goes backwards, since a parent has a smaller id
 * than its children.
 */
#include "tree/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/par.h"
#include "core/thread.h"
#include "core/when.h"
#include "core/zstd.h"
#include "tree/scan_priv.h"

#define RACY_MARGIN INT64_C(20000000) /* two ticks of the slowest kernel clock */
/*
 * other threads are started when this many directories have been pushed; for fewer directories,
 * starting threads costs more than it saves
 */
#define HELP_FROM 256

struct helpers {
	pthread_t threads[PAR_MAX];
	unsigned n;
	bool called;
};

/* --- directories on the stack --- */

static void append_path(struct buf *out, const struct scan_place *place)
{
	if (!place || !place->parent)
		return;
	append_path(out, place->parent);
	buf_add_name(out, place->name);
}

struct str scan_path(struct scan_walker *w, const struct scan_place *dir, struct str name)
{
	buf_clear(&w->path);
	append_path(&w->path, dir);
	buf_add_name(&w->path, name);
	return (struct str){ w->path.data, w->path.len };
}

static void release_place(struct scan_state *state, struct scan_place *place)
{
	while (place) {
		struct scan_place *parent = place->parent;

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

/*
 * Record that one more child of the directory 'parent' has been opened, or need not be opened.
 * After the last child, the descriptor of the parent is not needed any more.
 */
static void release_parent_fd(struct scan_state *state, struct scan_place *parent)
{
	if (!parent)
		return;
	pthread_mutex_lock(&state->lock);
	if (!--parent->unopened)
		close_fd(&parent->fd);
	pthread_mutex_unlock(&state->lock);
}

struct scan_place *scan_new_place(struct scan_place *parent, struct str name, uint32_t id)
{
	struct scan_place *place = mem_zalloc(sizeof(*place) + name.len + 1);

	memcpy(place->bytes, name.ptr, name.len);
	place->name = (struct str){ place->bytes, name.len };
	place->parent = parent;
	place->id = id;
	place->old_id = WINDEX_NO_DIR;
	place->fd = -1;
	place->refs = 1;
	return place;
}

void scan_push(struct scan_state *state, struct scan_place *dir, struct scan_children *children)
{
	if (!children->count)
		return;
	pthread_mutex_lock(&state->lock);
	dir->unopened = children->count;
	dir->refs += children->count;
	state->pushed += (unsigned)children->count;
	while (children->first) {
		struct scan_place *child = children->first;

		children->first = child->below;
		child->below = state->stack;
		state->stack = child;
	}
	pthread_cond_broadcast(&state->wake);
	pthread_mutex_unlock(&state->lock);
}

static void stop_with_error(struct scan_state *state, const struct err *err)
{
	pthread_mutex_lock(&state->lock);
	/*
	 * The flag 'stop' does not tell whether this is the first error, since it is set at the
	 * regular end of the walk, too.
	 */
	if (!state->err.code)
		state->err = *err;
	state->stop = true;
	pthread_cond_broadcast(&state->wake);
	pthread_mutex_unlock(&state->lock);
}

/* --- the threads --- */

/*
 * Open a directory by the descriptor of its parent.  If the parent is quiet (scan_dir.c) and was
 * not opened, the path from the root is used.  Returns a descriptor or -errno.
 */
static int open_name(struct scan_walker *w, const struct scan_place *dir, int flags)
{
	struct err err = { 0 };

	if (dir->parent->fd >= 0)
		return at_name_open(dir->parent->fd, dir->name.ptr, flags);
	int fd = at_open(w->state->options->fd, scan_path(w, dir, STR("")).ptr, flags, &err);
	if (fd >= 0)
		return fd;
	return err.errno_value ? -err.errno_value : -ENOENT;
}

/*
 * Open a directory.  Returns 1, or 0 if the directory is left out, or a negative errno if the walk
 * must stop.  When the result is 0, the flags of the row give the reason.
 */
static int open_place(struct scan_walker *w, struct scan_place *dir)
{
	struct scan_state *state = w->state;
	struct windex_dir *row = windex_dir(state->index, dir->id);
	struct statx stx;

	if (!dir->parent)
		return 1;
	int fd = open_name(w, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOATIME);
	if (fd == -EPERM)
		fd = open_name(w, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	release_parent_fd(state, dir->parent);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		report_add(state->options->report, REPORT_VANISHED, scan_path(w, dir, STR("")),
			"the directory went away");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_GONE;
		return 0;
	}
	if (at_scarce(-fd))
		return fd;
	if (fd < 0) {
		errno = -fd;
		report_add(state->options->report, REPORT_UNREADABLE, scan_path(w, dir, STR("")),
			"open: %m");
		row->flags = WINDEX_DIR_DIRTY | WINDEX_DIR_UNREAD;
		return 0;
	}
	dir->fd = fd;
	if (at_fd_stat(fd, &stx) < 0 || stx.stx_mnt_id != state->mnt_id) {
		report_add(state->options->report, REPORT_LEFT_OUT, scan_path(w, dir, STR("")),
			"another file system is mounted here");
		row->flags = WINDEX_DIR_DIRTY;
		return 0;
	}
	return 1;
}

/*
 * Open a directory as open_place does, if that is necessary.  The directory is not opened if its
 * names are known from the old index and no file in it has to be looked at.
 */
static int enter_place(struct scan_walker *w, struct scan_place *dir)
{
	bool disturbed = true;

	if (dir->quiet || dir->covered)
		dir->quiet = scan_dir_recall(w, dir, &disturbed);
	if (!dir->quiet || (disturbed && !dir->covered))
		return open_place(w, dir);
	release_parent_fd(w->state, dir->parent);
	return 1;
}

static struct scan_place *next_place(struct scan_state *state)
{
	struct scan_place *place = NULL;

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

static void walker_init(struct scan_walker *w, struct scan_state *state)
{
	memset(w, 0, sizeof(*w));
	w->state = state;
	w->names.max = w->xattrs.max = w->path.max = BUF_MAX;
	w->dents = mem_alloc(SCAN_DENTS_SIZE);
	windex_writer_init(&w->out, state->index);
	windex_reader_init(&w->old, state->options->old);
	treeiter_init(&w->adopt, state->options->store);
}

static void walker_finish(struct scan_walker *w)
{
	struct scan *scan = w->state->scan;
	struct err err = { 0 };
	int r = windex_writer_finish(&w->out);

	if (r < 0) {
		err_number(&err, -r, "write the workspace index");
		stop_with_error(w->state, &err);
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

static void *run_helper(void *arg);

/*
 * Start the other threads.  Each thread counts as busy before it starts, so that no other thread
 * ends the walk too early.
 */
static void call_helpers(struct scan_state *state, struct helpers *helpers)
{
	unsigned want = par_cpus();
	struct err ignored = { 0 };

	helpers->called = true;
	for (unsigned i = 1; i < want; i++) {
		pthread_mutex_lock(&state->lock);
		state->busy++;
		pthread_mutex_unlock(&state->lock);
		if (thread_start(&helpers->threads[helpers->n], run_helper, state, &ignored) < 0) {
			pthread_mutex_lock(&state->lock);
			state->busy--;
			pthread_mutex_unlock(&state->lock);
			break;
		}
		helpers->n++;
	}
}

/*
 * Read directories until none is left.  If 'helpers' is not NULL, this thread may start other
 * threads, which are noted in *helpers.
 */
static void walk_directories(struct scan_state *state, struct helpers *helpers)
{
	struct scan_walker w;
	struct scan_place *dir;
	struct err err = { 0 };

	walker_init(&w, state);
	while ((dir = next_place(state))) {
		if (helpers && !helpers->called && state->pushed >= HELP_FROM)
			call_helpers(state, helpers);
		int ready = enter_place(&w, dir);

		if (ready < 0)
			err_number(&err, -ready, "open a directory");
		if (ready < 0 || (ready > 0 && scan_dir_look(&w, dir, &err) < 0))
			stop_with_error(state, &err);
		pthread_mutex_lock(&state->lock);
		if (!dir->unopened)
			close_fd(&dir->fd);
		pthread_mutex_unlock(&state->lock);
		release_place(state, dir);
	}
	walker_finish(&w);
	zstd_thread_end();
}

static void *run_helper(void *arg)
{
	walk_directories(arg, NULL);
	return NULL;
}

/* --- the whole scan --- */

/* Push the root, where the walk begins. */
static int scan_root(struct scan_state *state, struct err *err)
{
	struct scan_place *root = NULL;
	struct scan_walker w;
	struct statx stx;
	int r = at_fd_stat(state->options->fd, &stx);

	if (r < 0)
		return err_number(err, -r, "stat the tree");
	state->mnt_id = stx.stx_mnt_id;
	walker_init(&w, state);
	r = scan_dir_root(&w, &stx, &root, err);
	walker_finish(&w);
	if (r < 0)
		return r;
	root->fd = fcntl(state->options->fd, F_DUPFD_CLOEXEC, 0);
	if (root->fd < 0)
		r = err_errno(err, "open the tree");
	else if (lseek(root->fd, 0, SEEK_SET) < 0)
		r = err_errno(err, "rewind the tree");
	if (r < 0) {
		close_fd(&root->fd);
		free(root);
		return r;
	}
	state->stack = root;
	return 0;
}

static int compare_links(const void *a, const void *b)
{
	const struct scan_link *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/*
 * Compute the link group of each hard-linked inode.  If the record of a name has another group, the
 * directory of the name becomes dirty.
 */
static void number_link_groups(struct scan *scan)
{
	if (scan->n_links)
		qsort(scan->links, scan->n_links, sizeof(*scan->links), compare_links);
	for (size_t i = 0, end; i < scan->n_links; i = end) {
		uint64_t group = 0;

		for (end = i; end < scan->n_links && scan->links[end].ino == scan->links[i].ino;
			end++)
			group += scan->links[end].path;
		if (end - i < 2)
			group = 0; /* the inode's other names are outside the tree */
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
 * Mark the parent of each dirty directory as dirty.  The tree of an adopted directory
 * (scan_adopt.h) has changed, too.  So the parent of an adopted directory also becomes dirty,
 * unless the parent itself was adopted.
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
	struct scan_link key = { .ino = ino };
	/* All names of an inode have the same group, so the search may find any of them. */
	const struct scan_link *link = scan->n_links ? bsearch(&key, scan->links, scan->n_links,
							       sizeof(key), compare_links)
						     : NULL;

	return link ? link->group : 0;
}

void scan_release(struct scan *scan)
{
	windex_close(scan->index);
	free(scan->links);
	*scan = (struct scan){ 0 };
}

int scan_run(const struct scan_options *options, int spool_take, struct scan *scan, struct err *err)
{
	int64_t now = options->mapped ? options->mapped->since : when_coarse();
	struct scan_state state = {
		.options = options,
		.index = windex_new_take(spool_take, now),
		.trusted = options->old ? windex_stamp(options->old) - RACY_MARGIN : 0,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.wake = PTHREAD_COND_INITIALIZER,
		.scan = scan,
	};
	struct helpers helpers = { 0 };

	*scan = (struct scan){ .index = state.index };
	/* Row 0 is the pseudo-directory that holds the root. */
	windex_add_dir(state.index, 0);
	int r = scan_root(&state, err);
	if (r < 0)
		goto out;
	state.busy = 1; /* this thread is busy, too */
	walk_directories(&state, &helpers);
	for (unsigned i = 0; i < helpers.n; i++)
		pthread_join(helpers.threads[i], NULL);
	/* After a failure, directories that no thread has taken are left on the stack. */
	while (state.stack) {
		struct scan_place *place = state.stack;

		state.stack = place->below;
		release_place(&state, place);
	}
	if (state.err.code) {
		*err = state.err;
		r = -(int)err->code;
		goto out;
	}
	number_link_groups(scan);
	carry_dirt_up(state.index);
out:
	if (r < 0)
		scan_release(scan);
	return r;
}
