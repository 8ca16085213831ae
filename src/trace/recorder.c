#include "trace/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "trace/manifest.h"

#define ALIASES_MAX 64                   /* a link to a link to a link */
#define DEPTH_MAX 256                    /* of a directory that is renamed */
#define ALONE_MAX 1000                   /* files that one thread looks at in the end */
#define RACY_NS (20 * WHEN_MS)           /* two ticks of the slowest kernel clock */
#define RACY_COARSE_NS (2 * WHEN_SECOND) /* file systems that keep whole seconds */

/* --- git --- */

static struct repository *open_repository(struct recorder *recorder, struct pathmap_entry *root)
{
	struct repository *repo = arena_alloc(&recorder->looked, sizeof(*repo));
	struct err err = { 0 };

	repo->root = root;
	repo->git = git_open(root->path.ptr, &err);
	if (!repo->git && err.code != ERR_NOT_FOUND)
		reasons_add(recorder->reasons, "git repository '%s' was not looked into: %s",
			root->path.ptr, err.text);
	if (!repo->git)
		return NULL;
	repo->next = recorder->repositories;
	recorder->repositories = repo;
	return repo;
}

static struct repository *repository_of(struct recorder *recorder, struct pathmap_entry *directory)
{
	struct statx stx;

	if (directory->looked_for)
		return directory->repository;
	directory->looked_for = true;
	owned_mem char *path = mem_printf("%s/.git", directory->parent ? directory->path.ptr : "");
	if (at_abs_stat(path, &stx) == 0)
		directory->repository = open_repository(recorder, directory);
	if (!directory->repository && directory->parent)
		directory->repository = repository_of(recorder, directory->parent);
	return directory->repository;
}

struct str recorder_git_path(const struct record *record)
{
	struct str root = record->repository->root->path, path = record->entry->path;
	size_t start = root.len == 1 ? 1 : root.len + 1;

	return (struct str){ path.ptr + start, path.len - start };
}

static void classify(struct recorder *recorder, struct record *record, const struct statx *stx)
{
	struct repository *repo = repository_of(recorder, record->entry->parent);
	struct err err = { 0 };

	if (!repo)
		return;
	record->repository = repo;
	if (git_classify(repo->git, recorder_git_path(record).ptr, stx, &record->git, &err) < 0)
		record->git = (struct git_file){ .dirty = true };
}

static bool is_clean(const struct record *record)
{
	return record->repository && record->git.tracked && !record->git.dirty;
}

/* --- the first look --- */

static bool is_ignored(const struct pathmap_entry *entry)
{
	for (; entry; entry = entry->parent)
		if (entry->ignored || !strcmp(entry->path.ptr + entry->name, ".git"))
			return true;
	return false;
}

static bool is_foreign(const struct recorder *recorder, const struct record *record)
{
	return record->before.exists && recorder->uid && record->before.uid != recorder->uid &&
	       (S_ISLNK(record->before.mode) || !at_abs_writable(record->entry->path.ptr));
}

static struct record **linked_bucket(struct recorder *recorder, const struct filestate *state)
{
	return &recorder->linked[state->ino % RECORDER_LINKED];
}

/* It may be known by others, too. */
static bool has_names(const struct filestate *state)
{
	return state->exists && !S_ISDIR(state->mode) && state->nlink > 1;
}

/* Another name of it by which it is being changed; NULL: none. */
static struct record *changing_name(struct recorder *recorder, const struct record *record)
{
	const struct filestate *state = &record->before;
	struct record *other = S_ISDIR(state->mode) ? NULL : *linked_bucket(recorder, state);

	while (other && (other == record || other->before.ino != state->ino ||
				other->before.dev != state->dev))
		other = other->next_linked;
	return other;
}

/* What it was before, that one knows. */
static void take_state_of_link(struct recorder *recorder, struct record *record)
{
	struct record *other = changing_name(recorder, record);

	if (!other)
		return;
	record->before = other->before;
	record->looked_at = other->looked_at;
	record->before.content = FILESTATE_UNSAVED;
	record->before.hashed = false;
	record->before.blob = NULL;
	record->before.spooled = 0;
	record->late = true;
	record->alias = other;
}

/* Nor can there be anything. */
static bool is_missing(int r)
{
	/* ELOOP: where a directory of its path was, there is a link. */
	return r == -ENOENT || r == -ENOTDIR || r == -ENAMETOOLONG || r == -ELOOP;
}

static int stat_now(const struct record *record, struct statx *stx)
{
	const char *path = record->entry->path.ptr;

	return record->brought ? at_abs_stat_strictly(path, stx) : at_abs_stat(path, stx);
}

/* What it is now is what it was before, as nothing has been done to it yet. */
static void look(struct recorder *recorder, struct record *record)
{
	const struct pathmap_entry *entry = record->entry;
	const char *path = entry->path.ptr;
	struct statx stx;

	record->looked_at = when_coarse();
	int r = stat_now(record, &stx);
	if (r == 0)
		r = filestate_of(path, &stx, &recorder->looked, &record->before);
	record->unknown = r == -EACCES || r == -EPERM;
	if (r < 0 && !is_missing(r) && !record->unknown)
		reasons_add(
			recorder->reasons, "'%s' could not be looked at: %s", path, strerror(-r));
	if (r == 0)
		take_state_of_link(recorder, record);
	if (has_names(&record->before)) {
		record->next_named = recorder->named[record->before.ino % RECORDER_LINKED];
		recorder->named[record->before.ino % RECORDER_LINKED] = record;
	}
	record->foreign = is_foreign(recorder, record);
	if (!record->foreign && recorder->saver && entry->parent && !record->unknown &&
		!S_ISDIR(record->before.mode))
		classify(recorder, record, record->before.exists ? &stx : NULL);
	record->looked = true;
}

/* -EACCES and such: whether that matters is the caller's to say. */
static int queue(struct recorder *recorder, struct record *record, struct filestate *state,
	const char *key, bool digest, uint64_t *number)
{
	struct pathmap_entry *entry = record->entry;
	int fd = at_abs_read(entry->path.ptr);

	/* The saver holds most descriptors there are: let it get done with them. */
	if (fd < 0 && at_scarce(-fd)) {
		saver_wait_all(recorder->saver);
		fd = at_abs_read(entry->path.ptr);
	}
	if (fd < 0)
		return fd;
	/* Somebody else may write to it even now: what is saved is what is told. */
	if (state == &record->after)
		filestate_again(fd, state);
	bool in_git = state == &record->before && is_clean(record);
	*number = saver_add(recorder->saver, &(struct saver_job){
						     .fd_take = fd,
						     .path = entry->path.ptr,
						     .key = key,
						     .state = state,
						     .digest = digest,
						     .git = in_git ? record->repository->git : NULL,
						     .oid = in_git ? record->git.oid : NULL,
					     });
	return 0;
}

static bool has_content(const struct recorder *recorder, const struct record *record)
{
	return recorder->saver && !record->ignored && !record->foreign && !record->late &&
	       !record->entry->untouchable && record->before.exists && S_ISREG(record->before.mode);
}

/* Its content is being read: keep it unless the repository has it. */
static void keep(struct recorder *recorder, struct record *record)
{
	/* Who may not read it is told so by the kernel, as the program is. */
	if (!has_content(recorder, record) || record->saving || is_clean(record))
		return;
	bool digest = record->before.size > recorder->read_limit;
	int r = queue(recorder, record, &record->before, record->key, digest, &record->saving);
	record->digested = r == 0 && digest;
	if (r < 0 && r != -EACCES && r != -EPERM && r != -ENOENT)
		reasons_add(recorder->reasons, "content of '%s' before was not saved: %s",
			record->entry->path.ptr, strerror(-r));
}

/*
 * The command has changed nothing about it yet.  If it is another than at the first look, somebody
 * else has changed it, and that is not the command's to undo.
 */
static void look_again(struct recorder *recorder, struct record *record)
{
	const struct filestate *before = &record->before;
	struct filestate now = { 0 };
	struct statx stx;

	/* While the saver reads it, it has the state, and sees changes itself. */
	if (record->late || record->unknown || record->alias ||
		(record->saving && !saver_done(recorder->saver, record->saving)) ||
		has_names(before))
		return;
	int r = stat_now(record, &stx);
	if (r == 0)
		r = filestate_of(record->entry->path.ptr, &stx, &recorder->looked, &now);
	bool same = filestate_same(before, &now);
	/* Names in a directory may have been changed by the command, and with them its time. */
	if ((r < 0 && !is_missing(r)) || has_names(&now) || S_ISDIR(now.mode) ||
		S_ISDIR(before->mode) || (same && before->ino == now.ino))
		return;
	if (!record->saving) {
		record->before = (struct filestate){ 0 };
		record->repository = NULL;
		record->git = (struct git_file){ 0 };
		look(recorder, record);
	} else if (!same) {
		reasons_add(recorder->reasons,
			"'%s' was changed by somebody else when the command had read it, and then "
			"by the command: what it was in between is not kept",
			record->entry->path.ptr);
	}
}

static void attend(void *arg, struct looker_item *item)
{
	struct record *record = (struct record *)item;

	if (!record->looked || record->unknown)
		look(arg, record);
	else if (!record->changing && !record->saving)
		look_again(arg, record);
	if (atomic_load_explicit(&record->wanted, memory_order_acquire))
		keep(arg, record);
}

void recorder_init(struct recorder *recorder, struct pathmap *map, struct saver *saver,
	struct reasons *reasons)
{
	*recorder = (struct recorder){
		.map = map,
		.saver = saver,
		.reasons = reasons,
		.renames = 1,
		.read_limit = RECORDER_READ_LIMIT,
		.uid = geteuid(),
	};
	looker_init(&recorder->looker, attend, recorder);
}

void recorder_release(struct recorder *recorder)
{
	looker_release(&recorder->looker);
	/* Its jobs are about records. */
	if (recorder->saver)
		saver_wait_all(recorder->saver);
	for (struct record *record = recorder->records; record; record = record->next)
		if (record->processes != record->few)
			free(record->processes);
	for (struct repository *repo = recorder->repositories; repo; repo = repo->next)
		git_close(repo->git);
	free(recorder->sorted);
	free(recorder->touched);
	unrecorded_release(&recorder->unrecorded);
	arena_release(&recorder->arena);
	arena_release(&recorder->looked);
	for (size_t i = 0; i < PAR_MAX; i++)
		arena_release(&recorder->last[i]);
}

static void look_soon(struct recorder *recorder, struct record *record)
{
	if (!recorder->at_once)
		looker_add(&recorder->looker, &record->item);
	else
		attend(recorder, &record->item);
}

void recorder_catch_up(struct recorder *recorder)
{
	looker_catch_up(&recorder->looker);
}

void recorder_look_at_once(struct recorder *recorder)
{
	recorder_catch_up(recorder);
	recorder->at_once = true;
}

static struct record *add_record(
	struct recorder *recorder, struct pathmap_entry *entry, bool brought)
{
	struct record *record = arena_alloc(&recorder->arena, sizeof(*record));

	entry->record = record;
	record->entry = entry;
	record->processes = record->few;
	record->cap_processes = RECORDER_FEW;
	record->next = recorder->records;
	recorder->records = record;
	recorder->n_records++;
	record->brought = brought;
	record->ignored = is_ignored(entry);
	if (!record->ignored)
		look_soon(recorder, record);
	return record;
}

static void make_room_for_process(struct record *record)
{
	_Static_assert(RECORDER_FEW < 16, "mem_grow begins with so many");

	if (record->n_processes < record->cap_processes)
		return;
	if (record->processes == record->few) {
		record->processes = NULL;
		record->cap_processes = 0;
		mem_grow(&record->processes, &record->cap_processes, record->n_processes);
		memcpy(record->processes, record->few, sizeof(record->few));
		return;
	}
	mem_grow(&record->processes, &record->cap_processes, record->n_processes);
}

static void add_process(struct recorder *recorder, struct record *record)
{
	size_t at = record->n_processes;

	/* Mostly it is one of the youngest: a header of a large build has been read by thousands.
	 */
	while (at && record->processes[at - 1] > recorder->process)
		at--;
	if (at && record->processes[at - 1] == recorder->process)
		return;
	make_room_for_process(record);
	memmove(record->processes + at + 1, record->processes + at,
		(record->n_processes - at) * sizeof(*record->processes));
	record->processes[at] = recorder->process;
	record->n_processes++;
}

/*
 * Of a file with several names the others are changed with it, by writes that no call announces:
 * what is looked at from now on may be one of them.
 */
static void expect_change(struct recorder *recorder, struct record *record)
{
	recorder_catch_up(recorder);
	if (record->unknown)
		reasons_add(recorder->reasons,
			"what '%s' was before is not known: permission denied",
			record->entry->path.ptr);
	if (!record->changing) {
		look_again(recorder, record);
		record->found &= record->before.exists;
	}
	record->foreign = false;
	if (has_names(&record->before))
		recorder_look_at_once(recorder);
	if (record->changing)
		return;
	record->changing = true;
	if (!record->before.exists || record->late)
		return;
	filestate_xattrs(record->entry->path.ptr, &recorder->arena, &record->before);
	if (has_names(&record->before)) {
		record->next_linked = *linked_bucket(recorder, &record->before);
		*linked_bucket(recorder, &record->before) = record;
	}
}

struct record *recorder_see(struct recorder *recorder, struct pathmap_entry *entry, unsigned ops)
{
	struct record *record = entry->record ?: add_record(recorder, entry, ops & BUNDLE_RENAME);

	if (record->ignored && ops & BUNDLE_CREATE)
		record->made = recorder->renames;
	if (record->ignored || entry->untouchable)
		return record;
	/* The program may have opened the way meanwhile. */
	if (!atomic_load_explicit(&record->item.pending, memory_order_acquire) && record->unknown)
		look_soon(recorder, record);
	if (ops & BUNDLE_CHANGING)
		expect_change(recorder, record);
	record->inherited = false;
	record->ops |= ops;
	add_process(recorder, record);
	return record;
}

static void touch_inode(struct recorder *recorder, uint64_t dev, uint64_t ino)
{
	mem_grow(&recorder->touched, &recorder->cap_touched, recorder->n_touched);
	recorder->touched[recorder->n_touched++] = (struct inode){ dev, ino };
}

void recorder_names_change(struct recorder *recorder, struct pathmap_entry *directory)
{
	recorder_see(recorder, directory, BUNDLE_DIRECTORY)->names_change = true;
}

bool recorder_exists(struct recorder *recorder, struct pathmap_entry *entry, struct statx *stx)
{
	return pathmap_stat(recorder->map, entry, stx) == 0;
}

/* --- contents --- */

static const char *key_of(struct recorder *recorder, const char *when, struct pathmap_entry *entry)
{
	const char *path = entry->path.ptr;

	if (!text_is_utf8(entry->path)) {
		owned(buf_release) struct buf latin1 = BUF_INIT;

		manifest_latin1(&latin1, entry->path);
		path = arena_str(&recorder->arena, (struct str){ latin1.data, latin1.len }).ptr;
		struct pathmap_entry *other = pathmap_known(recorder->map, str_of(path));
		/* Whoever comes second has another key, for both of its states. */
		if (entry->key == PATHMAP_KEY_OPEN)
			entry->key = other->key == PATHMAP_KEY_PLAIN ? PATHMAP_KEY_SECOND
								     : PATHMAP_KEY_PLAIN;
		if (entry->key == PATHMAP_KEY_PLAIN)
			other->key = PATHMAP_KEY_SECOND;
	} else if (entry->key == PATHMAP_KEY_OPEN) {
		entry->key = PATHMAP_KEY_PLAIN;
	}
	return arena_printf(&recorder->arena, "%s:%s%s", when, path,
		entry->key == PATHMAP_KEY_SECOND ? "//bytes" : "");
}

static uint64_t secure(struct recorder *recorder, struct record *record);

/* By another name it may have been changed already: then what it was, that one keeps for both. */
static bool keep_by_other_name(struct recorder *recorder, struct record *record)
{
	struct record *other =
		recorder->at_once && !record->changing ? changing_name(recorder, record) : NULL;

	if (!other || (!other->saving && is_clean(other)))
		return false;
	(void)secure(recorder, other);
	return true;
}

void recorder_keep(struct recorder *recorder, struct record *record)
{
	if (!recorder->saver || record->ignored || record->key)
		return;
	record->key = key_of(recorder, "before", record->entry);
	if (keep_by_other_name(recorder, record))
		return;
	atomic_store_explicit(&record->wanted, true, memory_order_release);
	look_soon(recorder, record);
}

bool recorder_is_written_unseen(
	struct recorder *recorder, const struct record *record, const struct statx *stx)
{
	uint64_t dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);

	if (record->ignored || record->changing || changing_name(recorder, record))
		return false;
	for (size_t i = 0; i < recorder->n_touched; i++)
		if (recorder->touched[i].ino == stx->stx_ino && recorder->touched[i].dev == dev)
			return true;
	return false;
}

void recorder_link(struct recorder *recorder, struct record *from, struct record *to)
{
	/* By its new name it may get other attributes. */
	if (!from->ignored)
		expect_change(recorder, from);
	recorder_look_at_once(recorder);
	if (to != from && to->alias != from && from->alias != to)
		to->alias = from;
}

static uint64_t secure(struct recorder *recorder, struct record *record)
{
	if (!has_content(recorder, record))
		return 0;
	if (!record->saving || record->digested) {
		const char *key = record->key ?: key_of(recorder, "before", record->entry);
		/* Its state is the saver's until the first time is over. */
		if (record->digested)
			saver_wait(recorder->saver, record->saving);
		record->digested = false;
		int r = queue(recorder, record, &record->before, key, false, &record->saving);

		if (r < 0 && r != -ENOENT)
			reasons_add(recorder->reasons, "content of '%s' before was not saved: %s",
				record->entry->path.ptr, strerror(-r));
	}
	return record->saving;
}

uint64_t recorder_secure(struct recorder *recorder, struct record *record)
{
	uint64_t last = secure(recorder, record);

	/* By whatever name it is changed, it is the same file. */
	for (int i = 0; record->alias && i < ALIASES_MAX; i++) {
		record = record->alias;
		uint64_t number = secure(recorder, record);
		last = number > last ? number : last;
	}
	return last;
}

/* ops: of all its names; count: of these. */
static uint64_t touch(struct recorder *recorder, const struct statx *stx, bool content,
	unsigned ops, size_t *count)
{
	const struct filestate file = {
		.dev = makedev(stx->stx_dev_major, stx->stx_dev_minor),
		.ino = stx->stx_ino,
	};
	uint64_t last = 0;

	recorder_look_at_once(recorder);
	touch_inode(recorder, file.dev, file.ino);
	for (struct record *record = recorder->named[file.ino % RECORDER_LINKED]; record;
		record = record->next_named) {
		if (record->before.ino != file.ino || record->before.dev != file.dev)
			continue;
		expect_change(recorder, record);
		record->ops |= ops;
		++*count;
		uint64_t number = content ? secure(recorder, record) : 0;
		last = number > last ? number : last;
	}
	return last;
}

uint64_t recorder_touch(struct recorder *recorder, const struct statx *stx, bool content)
{
	size_t count = 0;

	return touch(recorder, stx, content, 0, &count);
}

uint64_t recorder_touch_nameless(struct recorder *recorder, const struct statx *stx, unsigned ops)
{
	size_t count = 0;
	uint64_t number = touch(recorder, stx, ops & BUNDLE_WRITE, ops, &count);

	if (!count)
		reasons_add(recorder->reasons, "a file was changed by a descriptor when the name "
					       "it was opened by was gone: "
					       "its other names are not told of");
	return number;
}

/* --- what is renamed or removed --- */

void recorder_rename(struct recorder *recorder, struct pathmap_entry *from, const struct statx *stx,
	struct pathmap_entry *to, bool exchange)
{
	recorder->renames++;
	unrecorded_rename(&recorder->unrecorded, recorder->map, from, stx, to, exchange);
}

/* Not by this call, which may exchange two of them. */
static bool was_made(const struct recorder *recorder, const struct record *record)
{
	return record->made && record->made < recorder->renames;
}

/* The first of its path that has no records. */
static bool is_first_ignored(const struct record *record)
{
	return record->ignored && (!record->entry->parent || !is_ignored(record->entry->parent));
}

uint64_t recorder_remove(
	struct recorder *recorder, struct pathmap_entry *entry, const struct statx *stx)
{
	struct record *record = entry->record;

	if (is_first_ignored(record) && !record->made && !entry->untouchable)
		unrecorded_goes(&recorder->unrecorded, entry, stx);
	return recorder_secure(recorder, record);
}

struct move {
	struct recorder *recorder;
	struct pathmap_entry *from, *to;
	unsigned depth;
	bool noted; /* that it goes along, if it has no record */
	uint64_t number;
};

static void move_one(struct move *move);

static int move_child(void *arg, int dirfd, const char *name, struct err *err)
{
	struct move *parent = arg;
	struct pathmap *map = parent->recorder->map;
	struct move child = {
		.recorder = parent->recorder,
		.from = pathmap_child(map, parent->from, str_of(name)),
		.to = pathmap_child(map, parent->to, str_of(name)),
		.depth = parent->depth + 1,
		.noted = parent->noted,
	};

	move_one(&child);
	if (child.number > parent->number)
		parent->number = child.number;
	return 0;
}

static void move_one(struct move *move)
{
	struct recorder *recorder = move->recorder;
	struct record *from = recorder_see(recorder, move->from, BUNDLE_RENAME);
	struct err err = { 0 };
	struct statx stx;

	struct record *to = recorder_see(recorder, move->to, BUNDLE_RENAME);
	move->number = recorder_secure(recorder, from);
	if (!recorder_exists(recorder, move->from, &stx))
		return;
	/* What goes from one place to another in what is ignored is nobody's business. */
	if (from->ignored && !move->noted && !was_made(recorder, from) &&
		(!to->ignored || is_first_ignored(from))) {
		unrecorded_moves(&recorder->unrecorded, move->from, move->to, &stx);
		move->noted = true;
	}
	to->made = recorder->renames;
	if (!S_ISDIR(stx.stx_mode) || (from->ignored && to->ignored))
		return;
	owned_fd int fd = at_abs_open(move->from->path.ptr, O_RDONLY | O_DIRECTORY);
	int r = fd;
	if (fd >= 0 && move->depth < DEPTH_MAX)
		r = at_each_name(fd, ".", move_child, move, &err);
	if (r < 0 || move->depth >= DEPTH_MAX)
		reasons_add(recorder->reasons,
			"not all was seen that is in '%s', which was renamed",
			move->from->path.ptr);
}

uint64_t recorder_move(
	struct recorder *recorder, struct pathmap_entry *from, struct pathmap_entry *to)
{
	struct move move = { .recorder = recorder, .from = from, .to = to };

	move_one(&move);
	return move.number;
}

/* --- the end --- */

static bool is_same_file(const struct filestate *a, const struct filestate *b)
{
	return a->exists && b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && S_ISREG(a->mode);
}

/* Its times were of the very moment it was looked at: a change right after leaves them the same. */
static bool is_racy(const struct record *record)
{
	int64_t margin = record->before.ctime % WHEN_SECOND ? RACY_NS : RACY_COARSE_NS;

	return record->before.ctime >= record->looked_at - margin;
}

/*
 * Whether the content may have changed.  A changed ctime with the old mtime is
 * what chmod and link do too; of a file that was open for writing it means more.
 */
static bool content_changed(const struct record *record)
{
	const unsigned rewritten = BUNDLE_WRITE | BUNDLE_CREATE | BUNDLE_RENAME;
	const struct filestate *before = &record->before, *after = &record->after;

	if (!is_same_file(before, after))
		return true;
	if (before->mtime == after->mtime)
		return record->ops & rewritten &&
		       (before->ctime != after->ctime || is_racy(record));
	/* Times that were set, of a file that nobody can have written by another name. */
	return record->ops & rewritten || !(record->ops & BUNDLE_METADATA) || before->nlink > 1 ||
	       after->nlink > 1;
}

/* Beside each other, for whoever compares them again and again. */
struct sortable {
	struct str path;
	struct record *record;
};

/* One thread's share of the records. */
struct share {
	struct recorder *recorder;
	struct sortable *records;
	size_t n, taken;
	struct arena *arena;
	const struct pathmap_entry *parent; /* of the record looked at last */
	int directory;                      /* it, or a negative errno */
};

/* Of many in one directory the way there is gone once; nothing on it is a link. */
static int stat_in(struct share *share, const struct pathmap_entry *entry, struct statx *stx)
{
	if (!entry->parent)
		return at_abs_stat(entry->path.ptr, stx);
	if (share->parent != entry->parent) {
		close_fd(&share->directory);
		share->directory = at_abs_open(entry->parent->path.ptr, O_PATH | O_DIRECTORY);
		share->parent = entry->parent;
	}
	if (share->directory < 0)
		return at_scarce(-share->directory) ? at_abs_stat(entry->path.ptr, stx)
						    : share->directory;
	return at_name_stat(share->directory, entry->path.ptr + entry->name, stx);
}

static void last_look(struct share *share, struct record *record)
{
	struct recorder *recorder = share->recorder;
	const char *path = record->entry->path.ptr;
	struct statx stx;
	int r = stat_in(share, record->entry, &stx);

	if (r == 0)
		r = filestate_of(path, &stx, share->arena, &record->after);
	if (r == 0 && record->changing)
		filestate_xattrs(path, share->arena, &record->after);
	/* Not to be allowed to see it is not to know that it is gone. */
	record->unknown = r < 0 && !is_missing(r);
	if (record->unknown)
		reasons_add(recorder->reasons, "'%s' could not be looked at in the end: %s", path,
			strerror(-r));
}

static int by_path(const void *a, const void *b)
{
	return str_cmp(((const struct sortable *)a)->path, ((const struct sortable *)b)->path);
}

static void finish_share(void *arg)
{
	struct share *share = arg;

	qsort(share->records, share->n, sizeof(*share->records), by_path);
	for (size_t i = 0; i < share->n; i++)
		last_look(share, share->records[i].record);
	close_fd(&share->directory);
}

static struct record *take_next(struct share *shares, unsigned n)
{
	struct share *least = &shares[0];

	for (unsigned i = 1; i < n; i++) {
		struct share *share = &shares[i];

		if (share->taken == share->n)
			continue;
		if (least->taken == least->n ||
			by_path(&share->records[share->taken], &least->records[least->taken]) < 0)
			least = share;
	}
	return least->records[least->taken++].record;
}

/* Look at all of them for the last time, and sort them by path into sorted. */
static void finish_shares(struct recorder *recorder, struct sortable *records, size_t n)
{
	unsigned threads = n > ALONE_MAX ? par_cpus() : 1;
	struct par *par = par_new(threads > 1 ? threads : 0);
	struct share shares[PAR_MAX];

	for (unsigned i = 0; i < threads; i++) {
		size_t from = n * i / threads;

		shares[i] = (struct share){
			.recorder = recorder,
			.records = records + from,
			.n = n * (i + 1) / threads - from,
			.arena = &recorder->last[i],
			.directory = -ENOENT,
		};
		par_submit(par, finish_share, &shares[i]);
	}
	par_free(par);
	recorder->sorted = mem_alloc((n + 1) * sizeof(struct record *));
	for (size_t i = 0; i < n; i++)
		recorder->sorted[i] = take_next(shares, threads);
	recorder->n_sorted = n;
}

static void finish_records(struct recorder *recorder)
{
	owned_mem struct sortable *records =
		mem_alloc((recorder->n_records + 1) * sizeof(*records));
	size_t n = 0;

	for (struct record *record = recorder->records; record; record = record->next)
		if (!record->ignored && !record->foreign && record->ops && !record->unknown)
			records[n++] = (struct sortable){ record->entry->path, record };
	finish_shares(recorder, records, n);
}

static void keep_last(struct recorder *recorder, struct record *record)
{
	const char *path = record->entry->path.ptr;
	uint64_t number;

	if (!recorder->saver || !record->after.exists || !S_ISREG(record->after.mode) ||
		!content_changed(record))
		return;
	const char *key = key_of(recorder, "after", record->entry);
	/* What others have done to a file that was only read. */
	bool digest = !(record->ops & BUNDLE_CHANGING) && record->after.size > recorder->read_limit;
	int r = queue(recorder, record, &record->after, key, digest, &number);
	if (r < 0)
		reasons_add(recorder->reasons, "content of '%s' after was not saved: %s", path,
			strerror(-r));
}

static bool is_beyond(const struct filestate *state)
{
	return state->exists && (state->mtime >= WHEN_LAST || state->mtime <= WHEN_FIRST);
}

static void tell_of_times(struct recorder *recorder, const struct record *record)
{
	if (is_beyond(&record->before) || is_beyond(&record->after))
		reasons_add(recorder->reasons,
			"the time of '%s' is after the year 2262 or before 1677: it is not told",
			record->entry->path.ptr);
}

/* --- by whom --- */

static int compare_inodes(const void *a, const void *b)
{
	const struct inode *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static bool is_touched(const struct recorder *recorder, const struct filestate *state)
{
	const struct inode inode = { state->dev, state->ino };

	return state->exists && recorder->n_touched &&
	       bsearch(&inode, recorder->touched, recorder->n_touched, sizeof(inode),
		       compare_inodes);
}

/* What is changed by one of its names is changed by all. */
static void touch_names(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		const struct record *record = recorder->sorted[i];

		if (!(record->ops & (BUNDLE_WRITE | BUNDLE_METADATA)))
			continue;
		if (has_names(&record->before))
			touch_inode(recorder, record->before.dev, record->before.ino);
		if (has_names(&record->after))
			touch_inode(recorder, record->after.dev, record->after.ino);
	}
	if (recorder->n_touched)
		qsort(recorder->touched, recorder->n_touched, sizeof(*recorder->touched),
			compare_inodes);
}

/* Names that come and go give a directory another time, and nothing else. */
static bool changed_by_names(const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	return record->names_change && before->mode == after->mode && before->uid == after->uid &&
	       before->gid == after->gid;
}

static enum record_changed changed_by(const struct recorder *recorder, const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (filestate_same(before, after) &&
		!(before->exists && S_ISREG(before->mode) && content_changed(record)))
		return RECORD_UNCHANGED;
	if (record->ops & BUNDLE_CHANGING || changed_by_names(record) ||
		is_touched(recorder, before) || is_touched(recorder, after))
		return RECORD_BY_COMMAND;
	return RECORD_BY_OTHER;
}

static void tell_who_changed(struct recorder *recorder)
{
	touch_names(recorder);
	for (size_t i = 0; i < recorder->n_sorted; i++)
		recorder->sorted[i]->changed = changed_by(recorder, recorder->sorted[i]);
}

/* When the saver has done all it was given. */
static void settle_content(struct recorder *recorder, struct record *record)
{
	struct filestate *before = &record->before, *after = &record->after;

	if (before->content == FILESTATE_IN_GIT &&
		!git_has(record->repository->git, record->git.oid))
		saver_unspool(recorder->saver, key_of(recorder, "before", record->entry), before);
	if (!(before->hashed || before->blocks_hashed) || content_changed(record))
		return;
	filestate_share_content(after, before);
}

/* One record with several names, in one of its states. */
struct name {
	struct record *record;
	const struct filestate *state;
};

static int by_inode(const void *a, const void *b)
{
	const struct filestate *x = ((const struct name *)a)->state;
	const struct filestate *y = ((const struct name *)b)->state;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* By whatever name. */
static bool is_changed(const struct record *record)
{
	const struct filestate *before = &record->before, *after = &record->after;

	if (!before->exists || !after->exists || before->ino != after->ino ||
		before->dev != after->dev)
		return record->ops & (BUNDLE_WRITE | BUNDLE_METADATA);
	return !filestate_same(before, after) || (S_ISREG(before->mode) && content_changed(record));
}

/*
 * A file that was changed under one name has changed under all of them; which
 * others it has, only a walk over the file system would tell.
 */
static void miss_names(struct recorder *recorder, const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct record *record = names[i].record;

		if (n < names[i].state->nlink && is_changed(record)) {
			reasons_add(recorder->reasons,
				"'%s' was changed and has names that were not seen: %zu more",
				record->entry->path.ptr, names[i].state->nlink - n);
			return;
		}
	}
}

/* A content of this file that has been kept; NULL: there is none. */
static const struct filestate *kept_of(
	struct recorder *recorder, const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].state->content == FILESTATE_BLOB)
			return names[i].state;
	/* The repository has it by a name that is clean there; the others may not be. */
	for (size_t i = 0; i < n && recorder->saver; i++) {
		struct filestate *state = recorder_state(names[i].record, false);

		if (state->content != FILESTATE_IN_GIT || !state->spooled)
			continue;
		saver_unspool(
			recorder->saver, key_of(recorder, "before", names[i].record->entry), state);
		return state->content == FILESTATE_BLOB ? state : NULL;
	}
	return NULL;
}

static bool is_any_unsaved(const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].state->content == FILESTATE_UNSAVED && S_ISREG(names[i].state->mode))
			return true;
	return false;
}

/* What one of the names has saved, all have. */
static void share_content(struct recorder *recorder, const struct name *names, size_t n)
{
	const struct filestate *saved =
		is_any_unsaved(names, n) ? kept_of(recorder, names, n) : NULL;

	for (size_t i = 0; i < n && saved; i++) {
		struct filestate *state = recorder_state(names[i].record, false);

		if (state->content == FILESTATE_UNSAVED && state->size == saved->size &&
			state->mtime == saved->mtime)
			filestate_share_content(state, saved);
	}
}

static void tie(const struct name *names, size_t n, bool after)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += names[i].record->entry->path.len;
	for (size_t i = 0; i < n && n > 1; i++) {
		struct filestate *state = recorder_state(names[i].record, after);

		state->next_name = names[(i + 1) % n].record;
		state->names_bytes = bytes;
	}
}

/* Find the records that are names of one file. */
static void tie_names(struct recorder *recorder, bool after)
{
	owned_mem struct name *names = mem_alloc((recorder->n_sorted + 1) * sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];
		const struct filestate *state = recorder_state(record, after);

		if (has_names(state))
			names[n++] = (struct name){ record, state };
	}
	qsort(names, n, sizeof(*names), by_inode);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && !by_inode(&names[i], &names[end]); end++)
			;
		tie(names + i, end - i, after);
		miss_names(recorder, names + i, end - i);
		if (!after)
			share_content(recorder, names + i, end - i);
	}
}

void recorder_finish(struct recorder *recorder)
{
	looker_stop(&recorder->looker);
	unrecorded_finish(&recorder->unrecorded);
	finish_records(recorder);
	size_t known = 0;
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];

		keep_last(recorder, record);
		tell_of_times(recorder, record);
		if (!record->unknown)
			recorder->sorted[known++] = record;
	}
	recorder->n_sorted = known;
	if (recorder->saver)
		saver_wait_all(recorder->saver);
	for (size_t i = 0; i < recorder->n_sorted; i++) {
		struct record *record = recorder->sorted[i];

		record->told = true;
		settle_content(recorder, record);
		if (record->repository)
			record->repository->named = true;
	}
	tie_names(recorder, false);
	tie_names(recorder, true);
	tell_who_changed(recorder);
}
