#include "sandbox/mountplaces.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/own.h"
#include "sandbox/mountplan.h"

#define BIT(kind) MOUNTPLACES_BIT(MOUNTPLAN_##kind)
#define STUBS (BIT(STUB) | BIT(STUB_FILE) | BIT(STUB_DOT))
#define PROTECTS (BIT(PROTECT) | STUBS)
#define COVERS (BIT(MASK) | BIT(PRIVATE) | BIT(ROOT))
#define SHOWS (BIT(SHOW) | BIT(WRITABLE) | BIT(EXEC))
#define LINKS_MAX 40 /* as in the kernel */

/* ------------------------------------------------------------------- finding */

struct mountplace *mountplaces_new(struct arena *arena)
{
	struct mountplace *root = arena_alloc(arena, sizeof(*root));

	*root = (struct mountplace){ .name = "", .path = "", .type = S_IFDIR, .tree = -1 };
	return root;
}

static struct mountplace *find_entry(const struct mountplace *dir, const char *name, size_t len)
{
	struct mountplace *place = dir->first;

	while (place && (strncmp(place->name, name, len) || place->name[len]))
		place = place->next;
	return place;
}

static struct mountplace *add_entry(
	struct mountplace *dir, struct arena *arena, const char *name, size_t len)
{
	struct mountplace *place = arena_alloc(arena, sizeof(*place));

	*place = (struct mountplace){
		.parent = dir,
		.path = arena_printf(
			arena, "%s%s%.*s", dir->path, *dir->path ? "/" : "", (int)len, name),
		.entry = SIZE_MAX,
		.tree = -1,
	};
	place->name = place->path + strlen(place->path) - len;
	if (dir->last)
		dir->last->next = place;
	else
		dir->first = place;
	dir->last = place;
	return place;
}

int mountplaces_open(int root_fd, const struct mountplace *dir, struct err *err)
{
	return at_open(root_fd, *dir->path ? dir->path : ".", O_PATH | O_DIRECTORY, err);
}

int mountplaces_enter(struct mountplaces_walk *walk, const struct mountplace *dir, struct err *err)
{
	if (walk->fd >= 0 && walk->last == dir)
		return walk->fd;
	close_fd(&walk->fd);
	walk->fd = mountplaces_open(walk->root, dir, err);
	walk->last = dir;
	return walk->fd;
}

void mountplaces_leave(struct mountplaces_walk *walk)
{
	close_fd(&walk->fd);
}

/* Look up the file of a place.  If this fails, the place counts as missing. */
static void look_at(struct mountplace *place, struct arena *arena, struct mountplaces_walk *walk)
{
	const struct mountplace *dir = place->parent;
	struct err ignored = { 0 };
	char target[PATH_MAX];
	struct statx stx;

	place->type = 0;
	if (!S_ISDIR(dir->type))
		return;
	int fd = mountplaces_enter(walk, dir, &ignored);
	if (fd < 0 || at_name_stat(fd, place->name, &stx) < 0)
		return;
	place->type = stx.stx_mode & S_IFMT;
	place->mode = stx.stx_mode & 07777;
	if (!S_ISLNK(place->type))
		return;
	if (at_name_readlink(fd, place->name, target, sizeof(target)) < 0)
		place->type = 0;
	else
		place->target = arena_strdup(arena, target);
}

static struct mountplace *step(struct mountplace *at, struct arena *arena,
	struct mountplaces_walk *walk, const char *name, size_t len)
{
	struct mountplace *place = find_entry(at, name, len);

	if (!len || (len == 1 && *name == '.'))
		return at;
	if (len == 2 && !memcmp(name, "..", 2))
		return at->parent ? at->parent : at;
	if (!place)
		place = add_entry(at, arena, name, len);
	if (!place->type)
		look_at(place, arena, walk);
	return place;
}

static void note_link(struct mountplace *link, unsigned kinds)
{
	link->shown_link |= (kinds & BIT(SHOW)) != 0;
	link->locked_link |= (kinds & ~SHOWS) != 0;
}

int mountplaces_add_on(struct mountplaces_walk *walk, struct mountplace *root, struct arena *arena,
	const char *path, unsigned kinds, struct mountplace **out, struct err *err)
{
	owned(buf_release) struct buf rest = { .max = 64 * PATH_MAX };
	struct mountplace *at = root;
	size_t used = 0;
	int links = 0;

	buf_adds(&rest, path);
	while (!rest.overflowed && used < rest.len) {
		const char *name = rest.data + used;
		size_t len = strcspn(name, "/");
		struct mountplace *next = step(at, arena, walk, name, len);

		used += len + (name[len] == '/');
		if (!S_ISLNK(next->type)) {
			at = next;
			continue;
		}
		if (++links > LINKS_MAX)
			return err_set(err, ERR_INVALID, "too many symbolic links in '%s'", path);
		note_link(next, kinds);
		const char *tail = arena_strdup(arena, rest.data + used);
		at = *next->target == '/' ? root : next->parent;
		buf_clear(&rest);
		buf_adds(&rest, next->target);
		buf_addc(&rest, '/');
		buf_adds(&rest, tail);
		used = 0;
	}
	if (rest.overflowed)
		return err_set(err, ERR_LIMIT, "the path '%.100s...' is too long", path);
	*out = at;
	return 0;
}

int mountplaces_add(struct mountplace *root, struct arena *arena, int root_fd, const char *path,
	unsigned kinds, struct mountplace **out, struct err *err)
{
	owned(mountplaces_leave) struct mountplaces_walk walk = MOUNTPLACES_WALK(root_fd);

	return mountplaces_add_on(&walk, root, arena, path, kinds, out, err);
}

struct mountplace *mountplaces_find(struct mountplace *root, const char *path)
{
	struct mountplace *at = root;

	while (at && *path) {
		size_t len = strcspn(path, "/");

		at = len ? find_entry(at, path, len) : at;
		path += len + (path[len] == '/');
	}
	return at;
}

struct mountplace *mountplaces_next(struct mountplace *place, const struct mountplace *within)
{
	if (place->first)
		return place->first;
	while (place != within && !place->next)
		place = place->parent;
	return place == within ? NULL : place->next;
}

unsigned mountplaces_bits(const struct mountplace *place)
{
	return place->later ? place->later : place->planned;
}

/* ------------------------------------------------------------------ deciding */

/* Whether a program could rename the place, or make a file at its path. */
static bool is_changeable(const struct mountplace *place)
{
	return place->parent && !place->parent->hidden && !place->parent->read_only;
}

bool mountplaces_in_root(const struct mountplace *place)
{
	for (place = place->parent; place && place->parent; place = place->parent)
		if (!place->hidden || place->mounted)
			return false;
	return place && place->hidden;
}

/*
 * Whether the directories that lead to a hidden place are kept.  They are kept if the root hides
 * everything and the place may be shown later.
 */
static bool is_kept_way(const struct mountplace *place)
{
	return place->planned & BIT(LATER) && mountplaces_in_root(place);
}

static bool needs_mount(const struct mountplace *place, unsigned bits)
{
	static const struct mountplace nothing = { 0 };
	const struct mountplace *dir = place->parent ? place->parent : &nothing;

	if (!place->type)
		return false;
	if (place->hidden)
		return !dir->hidden || (bits & BIT(MASK) && is_kept_way(place));
	if (S_ISLNK(place->type))
		return place->locked_link && is_changeable(place);
	return dir->hidden || place->read_only != dir->read_only ||
	       place->no_exec != dir->no_exec ||
	       ((bits & (PROTECTS | BIT(PIN) | BIT(LATER))) && is_changeable(place));
}

static void decide_one(struct mountplace *place)
{
	const struct mountplace *dir = place->parent;
	unsigned bits = mountplaces_bits(place);

	place->hidden = dir && dir->hidden;
	place->read_only = dir && dir->read_only;
	place->no_exec = dir && dir->no_exec;
	if (bits & COVERS)
		place->hidden = true;
	else if (bits & BIT(SHOW))
		place->hidden = false;
	if (bits & (PROTECTS | BIT(READ_ONLY)))
		place->read_only = true;
	else if (bits & BIT(WRITABLE))
		place->read_only = false;
	if (bits & (BIT(NO_EXEC) | BIT(EXEC)))
		place->no_exec = bits & BIT(NO_EXEC);
	place->mounted = needs_mount(place, bits);
	place->leads = place->type && (!place->hidden || is_kept_way(place));
}

/* Mount the directories above a restricted place, if a program could otherwise rename them. */
static void pin_directories(const struct mountplace *place)
{
	for (struct mountplace *dir = place->parent; dir && dir->parent; dir = dir->parent)
		if (!dir->hidden && is_changeable(dir))
			dir->mounted = true;
}

static bool has_restriction(const struct mountplace *place)
{
	return place->mounted &&
	       (place->hidden || place->read_only || place->no_exec || S_ISLNK(place->type));
}

static bool is_restricted(const struct mountplace *place)
{
	return has_restriction(place) ||
	       (place->mounted && mountplaces_bits(place) & (BIT(PIN) | BIT(LATER)));
}

const struct mountplace *mountplaces_keeper(struct mountplace *place)
{
	struct mountplace *one = place->parent && place->mounted ? place : NULL;

	while (one && !has_restriction(one))
		one = mountplaces_next(one, place);
	return one;
}

const char *const mountplaces_kept[] = { "proc", "dev/shm", "dev/pts" };

const char *mountplaces_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (!len)
		return path;
	if (strncmp(path, dir, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len + (path[len] == '/');
}

void mountplaces_decide(struct mountplace *root)
{
	struct mountplace *place;

	for (place = root; place; place = mountplaces_next(place, root))
		decide_one(place);
	for (place = root; place; place = mountplaces_next(place, root)) {
		if (is_restricted(place))
			pin_directories(place);
		if (!place->leads && !(place->hidden && place->shown_link))
			continue;
		place->leads = true;
		for (struct mountplace *dir = place->parent; dir && !dir->leads; dir = dir->parent)
			dir->leads = true;
	}
}
