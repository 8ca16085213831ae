#include "trace/observe/pathmap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"

/* maximum number of symbolic links that one path may lead through, as in the kernel */
#define LINKS_MAX 40
#define FIRST_SLOTS 2048

/*
 * A shortcut to the directory that was named last.  It speeds up programs that name many files of
 * one directory.  'text' is the part of a path that led to the directory, and 'from' is the entry
 * at which this part began.  As long as no name changes, the same text leads to the same directory,
 * so the names in the text need not be looked up again.
 */
struct shortcut {
	struct buf text;
	const struct pathmap_entry *root, *from;
	struct pathmap_entry *to; /* NULL: there is no shortcut */
	unsigned changes;         /* value of pathmap.changes when the shortcut was made */
};

/*
 * A slot of a hash table with open addressing.  Names are compared only if their hashes are equal.
 */
struct slot {
	uint64_t hash;
	struct pathmap_entry *entry; /* NULL: the slot is free */
};

struct pathmap {
	struct arena arena;
	struct slot *slots;
	size_t n_slots, n_entries;
	struct pathmap_entry root;
	unsigned generation;
	unsigned changes; /* number of changes so far that may lead a name to another file */
	struct shortcut shortcut;
	/* 'todo' is the part of the path that is not resolved yet */
	struct buf todo, spare;
	/* target of a link, if the target must not be kept in the link's entry */
	char unremembered[PATH_MAX];
};

struct pathmap *pathmap_new(void)
{
	struct pathmap *map = mem_zalloc(sizeof(*map));

	map->n_slots = FIRST_SLOTS;
	map->slots = mem_zalloc(map->n_slots * sizeof(*map->slots));
	map->root.path = STR("/");
	map->root.kind = PATHMAP_DIRECTORY;
	map->todo.max = map->spare.max = map->shortcut.text.max = BUF_MAX;
	return map;
}

void pathmap_free(struct pathmap *map)
{
	if (!map)
		return;
	arena_release(&map->arena);
	free(map->slots);
	buf_release(&map->todo);
	buf_release(&map->spare);
	buf_release(&map->shortcut.text);
	free(map);
}

struct pathmap_entry *pathmap_root(struct pathmap *map)
{
	return &map->root;
}

void *pathmap_grow(void *array, size_t *n, size_t size, uint32_t number)
{
	size_t more = *n ? 2 * *n : FIRST_SLOTS;

	if (more <= number)
		more = (size_t)number + 1;
	array = mem_realloc(array, more * size);
	memset((char *)array + *n * size, 0, (more - *n) * size);
	*n = more;
	return array;
}

static uint64_t hash_of(const struct pathmap_entry *parent, struct str name)
{
	uint64_t hash = (uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (uint8_t)name.ptr[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

static struct str name_of(const struct pathmap_entry *entry)
{
	return (struct str){ entry->path.ptr + entry->name, entry->path.len - entry->name };
}

/* Returns the slot of a name, or a free slot in which to put it. */
static struct slot *slot_of(const struct pathmap *map, uint64_t hash,
	const struct pathmap_entry *parent, struct str name)
{
	for (size_t i = hash;; i++) {
		struct slot *slot = &map->slots[i & (map->n_slots - 1)];
		const struct pathmap_entry *entry = slot->entry;

		if (!entry || (slot->hash == hash && entry->parent == parent &&
				      str_eq(name_of(entry), name)))
			return slot;
	}
}

static void grow_slots(struct pathmap *map)
{
	owned_mem struct slot *old = map->slots;
	size_t n_old = map->n_slots;

	map->n_slots *= 2;
	map->slots = mem_zalloc(map->n_slots * sizeof(*map->slots));
	for (size_t i = 0; i < n_old; i++)
		if (old[i].entry)
			*slot_of(map, old[i].hash, old[i].entry->parent, name_of(old[i].entry)) =
				old[i];
}

static struct pathmap_entry *make_entry(
	struct pathmap *map, struct pathmap_entry *parent, struct str name)
{
	struct pathmap_entry *entry = arena_alloc(&map->arena, sizeof(*entry));
	size_t start = parent->path.len == 1 ? 1 : parent->path.len + 1;
	char *path = arena_alloc(&map->arena, start + name.len + 1);

	memcpy(path, parent->path.ptr, parent->path.len);
	path[start - 1] = '/';
	memcpy(path + start, name.ptr, name.len);
	entry->parent = parent;
	entry->path = (struct str){ path, start + name.len };
	entry->name = start;
	entry->procfs = parent->procfs || str_eq(entry->path, STR("/proc"));
	entry->untouchable = entry->ignored = parent->untouchable;
	return entry;
}

struct pathmap_entry *pathmap_child(
	struct pathmap *map, struct pathmap_entry *directory, struct str name)
{
	uint64_t hash = hash_of(directory, name);
	struct slot *slot = slot_of(map, hash, directory, name);

	if (slot->entry)
		return slot->entry;
	struct pathmap_entry *entry = make_entry(map, directory, name);
	*slot = (struct slot){ hash, entry };
	entry->number = (uint32_t)++map->n_entries;
	if (map->n_entries * 2 > map->n_slots)
		grow_slots(map);
	return entry;
}

struct pathmap_entry *pathmap_known(struct pathmap *map, struct str path)
{
	struct pathmap_entry *entry = &map->root;

	for (struct str name; (name = str_take_name(&path)).len;)
		entry = pathmap_child(map, entry, name);
	return entry;
}

static enum pathmap_kind kind_of_mode(mode_t mode)
{
	return S_ISDIR(mode) ? PATHMAP_DIRECTORY : S_ISLNK(mode) ? PATHMAP_LINK : PATHMAP_OTHER;
}

int pathmap_stat(struct pathmap *map, struct pathmap_entry *entry, struct statx *stx)
{
	int r = entry->untouchable ? -EACCES : at_abs_stat(entry->path.ptr, stx);
	enum pathmap_kind kind = r == -ENOENT ? PATHMAP_MISSING
				 : r < 0      ? PATHMAP_UNKNOWN
					      : kind_of_mode(stx->stx_mode);

	map->changes += entry->kind != PATHMAP_UNKNOWN && entry->kind != kind;
	entry->kind = kind;
	entry->generation = map->generation;
	entry->target_old = true;
	return r;
}

static enum pathmap_kind kind_of(struct pathmap *map, struct pathmap_entry *entry)
{
	struct statx stx;

	if (entry->untouchable)
		return PATHMAP_OTHER;
	if (entry->kind != PATHMAP_UNKNOWN && entry->generation == map->generation &&
		!entry->unsettled && !entry->procfs)
		return entry->kind;
	(void)pathmap_stat(map, entry, &stx);
	return entry->kind;
}

static const char *target_of(
	struct pathmap *map, struct pathmap_walk *walk, struct pathmap_entry *link)
{
	if (link->target && !link->target_old)
		return link->target;
	ssize_t len = at_abs_readlink(link->path.ptr, map->unremembered, sizeof(map->unremembered));
	walk->too_long |= len == -ENAMETOOLONG;
	if (len <= 0)
		return NULL;
	if (link->procfs || link->unsettled)
		return map->unremembered;
	link->target_old = false;
	if (!link->target || strcmp(link->target, map->unremembered) != 0)
		link->target = arena_strdup(&map->arena, map->unremembered);
	return link->target;
}

bool pathmap_says_deleted(const char *text)
{
	struct str all = str_of(text), deleted = STR(" (deleted)");

	return all.len > deleted.len &&
	       !memcmp(all.ptr + all.len - deleted.len, deleted.ptr, deleted.len);
}

/*
 * Whether a link in /proc leads to a file without a name, such as a pipe, a socket or a deleted
 * file.
 */
static bool is_nameless(const struct pathmap_entry *link, const char *target)
{
	struct statx stx;

	if (!link->procfs)
		return false;
	if (strchr(target, ':') == target + strcspn(target, "/:"))
		return true;
	return pathmap_says_deleted(target) && at_abs_stat(target, &stx) < 0;
}

/*
 * Returns the entry of a name in a directory.  In /proc, the name "self" means the process of the
 * walk.
 */
static struct pathmap_entry *step_to(struct pathmap *map, const struct pathmap_walk *walk,
	struct pathmap_entry *here, struct str name)
{
	char self[64];

	if (here->procfs && here->parent == &map->root) {
		if (str_eq(name, STR("self"))) {
			snprintf(self, sizeof(self), "%d", (int)walk->self);
			return pathmap_child(map, here, str_of(self));
		}
		if (str_eq(name, STR("thread-self"))) {
			snprintf(self, sizeof(self), "/proc/%d/task/%d", (int)walk->self,
				(int)walk->thread);
			return pathmap_known(map, str_of(self));
		}
	}
	return pathmap_child(map, here, name);
}

/* Put the target of a link in front of the rest of the path. */
static void splice_target(struct pathmap *map, const char *target, struct str rest)
{
	buf_clear(&map->spare);
	buf_adds(&map->spare, target);
	if (rest.len)
		buf_addc(&map->spare, '/');
	buf_add(&map->spare, rest.ptr, rest.len);

	struct buf swap = map->todo;
	map->todo = map->spare;
	map->spare = swap;
}

/*
 * If the rest of the path begins with the text of the shortcut, skip that text.  Returns the entry
 * at which the walk goes on.
 */
static struct pathmap_entry *take_shortcut(struct pathmap *map, const struct pathmap_walk *walk,
	struct pathmap_entry *from, struct str *rest)
{
	const struct shortcut *shortcut = &map->shortcut;
	size_t len = shortcut->text.len;

	if (!shortcut->to || shortcut->changes != map->changes || shortcut->from != from ||
		shortcut->root != walk->root || rest->len <= len || rest->ptr[len] != '/' ||
		memcmp(rest->ptr, shortcut->text.data, len) != 0)
		return from;
	*rest = (struct str){ rest->ptr + len, rest->len - len };
	return shortcut->to;
}

static void make_shortcut(struct pathmap *map, const struct pathmap_walk *walk,
	const struct pathmap_entry *from, struct str text, struct pathmap_entry *to)
{
	struct shortcut *shortcut = &map->shortcut;

	buf_clear(&shortcut->text);
	buf_add(&shortcut->text, text.ptr, text.len);
	shortcut->root = walk->root;
	shortcut->from = from;
	shortcut->to = to;
	shortcut->changes = map->changes;
}

/* Whether the name leads every process to the same file, now and when the name is used next. */
static bool is_stable(const struct pathmap_entry *entry)
{
	return entry->kind != PATHMAP_UNKNOWN && !entry->unsettled && !entry->procfs;
}

/*
 * Whether the entry is in /proc and has one of the names in the list 'names', as in /proc/PID/cwd.
 * Strata does not notice when such a link, or a link in "fd" or "map_files", gets another target.
 */
static bool is_of_process(const struct pathmap_entry *entry)
{
	static const char *const names[] = { "fd", "cwd", "root", "exe", "map_files" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && entry->procfs; i++)
		if (!strcmp(entry->path.ptr + entry->name, names[i]))
			return true;
	return false;
}

/*
 * Whether the names in a directory are numbers of descriptors.  Such a number may be reused for
 * another file.
 */
static bool is_of_descriptors(const struct pathmap_entry *entry)
{
	const char *name = entry->path.ptr + entry->name;

	return entry->procfs && (!strcmp(name, "fd") || !strcmp(name, "map_files"));
}

int pathmap_fd_of(const struct pathmap_entry *link, pid_t pid)
{
	char own[64];
	int len = snprintf(own, sizeof(own), "/proc/%d/", (int)pid);
	const char *name = link->path.ptr + link->name;
	char *end;
	long fd = strtol(name, &end, 10);

	if (strncmp(link->path.ptr, own, (size_t)len) != 0 || end == name || *end || fd < 0 ||
		fd > INT_MAX || strcmp(link->parent->path.ptr + link->parent->name, "fd") != 0)
		return -1;
	return (int)fd;
}

struct pathmap_entry *pathmap_resolve(
	struct pathmap *map, struct pathmap_walk *walk, struct str path)
{
	struct pathmap_entry *from = path.len && *path.ptr == '/' ? walk->root : walk->base;
	struct str rest = path;
	struct pathmap_entry *start = take_shortcut(map, walk, from, &rest), *here = start;
	bool settled = true;

	for (unsigned links = 0;;) {
		struct str name = str_take_name(&rest);

		if (!name.len)
			return here;
		if (!rest.len && settled && here != start && name.ptr > path.ptr + 1)
			make_shortcut(map, walk, from,
				(struct str){ path.ptr, (size_t)(name.ptr - path.ptr) - 1 }, here);
		if (str_eq(name, STR(".")))
			continue;
		if (str_eq(name, STR(".."))) {
			here = here == walk->root || !here->parent ? here : here->parent;
			continue;
		}
		struct pathmap_entry *next = step_to(map, walk, here, name);
		walk->fleeting |= is_of_process(next);
		if (is_of_descriptors(here)) {
			walk->descriptor = next;
			if (pathmap_fd_of(next, walk->self) == walk->known_fd && walk->known) {
				here = walk->known;
				settled = false;
				continue;
			}
		}
		if (!rest.len && !walk->follow)
			return next;
		if (kind_of(map, next) != PATHMAP_LINK) {
			settled &= is_stable(next);
			here = next;
			continue;
		}
		settled = false;
		const char *target = target_of(map, walk, next);
		if (!target || is_nameless(next, target) || ++links > LINKS_MAX)
			return NULL;
		if (walk->through)
			walk->through(walk->arg, next);
		splice_target(map, target, rest);
		rest = (struct str){ map->todo.data, map->todo.len };
		if (*target == '/')
			here = walk->root;
	}
}

bool pathmap_is_below(const struct pathmap_entry *entry, const struct pathmap_entry *top)
{
	while (entry && entry != top)
		entry = entry->parent;
	return entry;
}

bool pathmap_is_unsettled(const struct pathmap_entry *entry)
{
	while (entry && !entry->unsettled)
		entry = entry->parent;
	return entry;
}

void pathmap_leave_alone(struct pathmap *map, struct pathmap_entry *entry)
{
	for (size_t i = 0; i < map->n_slots; i++) {
		struct pathmap_entry *at = map->slots[i].entry;

		if (at && pathmap_is_below(at, entry))
			at->untouchable = at->ignored = true;
	}
	map->changes++;
	entry->untouchable = entry->ignored = true;
}

void pathmap_unsettle(struct pathmap *map, struct pathmap_entry *entry)
{
	entry->unsettled++;
	map->changes++;
}

void pathmap_settle(struct pathmap *map, struct pathmap_entry *entry)
{
	entry->unsettled--;
	map->changes++;
	entry->kind = PATHMAP_UNKNOWN;
}

void pathmap_forget(struct pathmap *map)
{
	map->generation++;
	map->changes++;
}
