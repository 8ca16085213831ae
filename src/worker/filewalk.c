#include "worker/filewalk.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "worker/gitignore.h"

#define EXCLUDE ".git/info/exclude"

/*
 * A name in a directory.  A slash at its end means that the item stands for the content of the
 * subdirectory of that name.
 */
struct item {
	struct str name;
	unsigned char type;
};

struct listing {
	struct arena arena;
	struct item *items;
	size_t n, cap;
	bool has_rules, has_repository;
};

struct walker {
	struct filewalk *walk;
	struct buf path;
	unsigned level;
};

static void release_listing(struct listing *listing)
{
	arena_release(&listing->arena);
	free(listing->items);
}

static void add_item(struct listing *listing, struct str name, unsigned char type, bool content)
{
	char *copy = arena_alloc(&listing->arena, name.len + 2);

	memcpy(copy, name.ptr, name.len);
	if (content)
		copy[name.len] = '/';
	mem_grow(&listing->items, &listing->cap, listing->n);
	listing->items[listing->n++] = (struct item){ { copy, name.len + content }, type };
}

static unsigned char type_of(int dir, const struct dirent *entry)
{
	struct statx stx;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	return at_name_stat(dir, entry->d_name, &stx) < 0 ? DT_UNKNOWN : IFTODT(stx.stx_mode);
}

static int compare_items(const void *a, const void *b)
{
	return str_cmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

/* List the names of a directory in order.  Returns 0 or -errno. */
static int list_directory(int dir, struct listing *listing)
{
	owned(at_list_closep) DIR *list = at_list_take(fcntl(dir, F_DUPFD_CLOEXEC, 0));
	const struct dirent *entry;

	while (list && (entry = at_list_next(list))) {
		struct str name = str_of(entry->d_name);
		unsigned char type = type_of(dir, entry);

		listing->has_rules |= str_eq(name, STR(".gitignore"));
		listing->has_repository |= str_eq(name, STR(".git"));
		add_item(listing, name, type, false);
		if (type == DT_DIR)
			add_item(listing, name, type, true);
	}
	if (errno)
		return -errno;
	if (listing->n)
		qsort(listing->items, listing->n, sizeof(*listing->items), compare_items);
	return 0;
}

/* ------------------------------------------------------------------- rules */

/*
 * The rules of a directory: those in its .gitignore ('own'), and those in .git/info/exclude if a
 * repository begins there.
 */
struct rules {
	struct gitignore exclude, own;
};

static void release_rules(struct rules *rules)
{
	gitignore_release(&rules->exclude);
	gitignore_release(&rules->own);
}

/* Read a file of rules.  Returns false if the file does not exist. */
static bool read_rules(int dir, const char *name, struct buf *out)
{
	struct stat st;
	owned_fd int fd = gate_content(dir, name, &st);
	char *room = fd < 0 ? NULL : buf_reserve(out, GITIGNORE_SIZE_MAX);
	ssize_t n = room ? at_pread_full(fd, room, GITIGNORE_SIZE_MAX, 0) : -1;

	if (n > 0)
		out->len += (size_t)n;
	return n > 0;
}

static bool add_rules(int dir, struct str path, const char *name, const struct gitignore *above,
	struct gitignore *out)
{
	owned(buf_release) struct buf text = BUF_INIT;

	if (!read_rules(dir, name, &text))
		return false;
	gitignore_init(out, above, path, (struct str){ text.data, text.len });
	return true;
}

/*
 * Returns the rules that apply in a directory.  If a repository begins there, the rules of the
 * directories above do not apply.
 */
static const struct gitignore *enter_rules(int dir, struct str path, const struct gitignore *above,
	bool repository, bool has_own, struct rules *rules)
{
	if (repository)
		above = add_rules(dir, path, EXCLUDE, NULL, &rules->exclude) ? &rules->exclude
									     : NULL;
	if (has_own && add_rules(dir, path, ".gitignore", above, &rules->own))
		above = &rules->own;
	return above;
}

/*
 * The rules of the directories above the start of the walk, up to the directory where the
 * repository begins.
 */
struct ancestry {
	struct rules *rules;
	size_t n;
};

static void release_ancestry(struct ancestry *ancestry)
{
	for (size_t i = 0; i < ancestry->n; i++)
		release_rules(&ancestry->rules[i]);
	free(ancestry->rules);
}

static bool above(struct str *path)
{
	const char *slash = path->len > 1 ? memrchr(path->ptr, '/', path->len) : NULL;

	if (!slash)
		return false;
	path->len = slash == path->ptr ? 1 : (size_t)(slash - path->ptr);
	return true;
}

static int open_readable(struct gate *gate, struct str path)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;
	owned_mem char *text = mem_zalloc(path.len + 1);
	struct err ignored = { 0 };

	if (!gate_readable(gate, path))
		return -1;
	memcpy(text, path.ptr, path.len);
	return gate_open(gate, str_of(text), GATE_DIRECTORY, &file, &ignored) < 0
		       ? -1
		       : take_fd(&file.fd);
}

/*
 * Find the directory in which the repository of a path begins.  Returns the number of levels from
 * the path up to this directory, or 0 if no such directory above the path is found.
 */
static size_t levels_to_repository(struct gate *gate, struct str path)
{
	size_t levels = 0;

	while (above(&path)) {
		owned_fd int dir = open_readable(gate, path);

		levels++;
		if (dir < 0)
			return 0;
		if (at_exists(dir, ".git"))
			return levels;
	}
	return 0;
}

static const struct gitignore *inherit_rules(
	struct gate *gate, int start, struct str path, struct ancestry *ancestry)
{
	const struct gitignore *rules = NULL;
	size_t levels = at_exists(start, ".git") ? 0 : levels_to_repository(gate, path);

	ancestry->rules = mem_zalloc((levels + 1) * sizeof(*ancestry->rules));
	for (; ancestry->n < levels; ancestry->n++) {
		struct str dir_path = path;

		for (size_t i = ancestry->n; i < levels; i++)
			(void)above(&dir_path);
		owned_fd int dir = open_readable(gate, dir_path);
		if (dir >= 0)
			rules = enter_rules(dir, dir_path, rules, !ancestry->n, true,
				&ancestry->rules[ancestry->n]);
	}
	return rules;
}

/* -------------------------------------------------------------------- walk */

static int walk_directory(
	struct walker *walker, int dir, const struct gitignore *inherited, struct err *err);

static struct str path_of(const struct walker *walker)
{
	return (struct str){ walker->path.data, walker->path.len };
}

static int enter_directory(struct walker *walker, int dir, const char *name,
	const struct gitignore *rules, struct err *err)
{
	struct filewalk *walk = walker->walk;

	if (!gate_readable(walk->gate, path_of(walker)))
		return 0;
	owned_fd int below = at_name_open(dir, name, O_RDONLY | O_DIRECTORY);
	if (below < 0) {
		walk->skipped += below != -ENOENT && below != -ENOTDIR && below != -ELOOP;
		return 0;
	}
	walker->level++;
	int r = walk_directory(walker, below, rules, err);
	walker->level--;
	return r;
}

static int visit_item(struct walker *walker, int dir, const struct item *item,
	const struct gitignore *rules, struct err *err)
{
	struct filewalk *walk = walker->walk;
	bool content = item->name.ptr[item->name.len - 1] == '/';
	char name[NAME_MAX + 1];
	size_t len = item->name.len - content;

	if (len > NAME_MAX)
		return 0;
	memcpy(name, item->name.ptr, len);
	name[len] = '\0';
	if (!walk->no_ignore && (!strcmp(name, ".git") || gitignore_has(rules, path_of(walker),
								  item->type == DT_DIR)))
		return 0;
	if (content)
		return walker->level < walk->depth ? enter_directory(walker, dir, name, rules, err)
						   : 0;
	struct filewalk_entry entry = {
		.path = path_of(walker), .type = item->type, .dir = dir, .name = name
	};
	return walk->visit(walk->arg, &entry, err);
}

static int visit_all(struct walker *walker, int dir, const struct listing *listing,
	const struct gitignore *rules, struct err *err)
{
	size_t len = walker->path.len;
	int r = 0;

	for (size_t i = 0; r == 0 && i < listing->n; i++) {
		struct str name = listing->items[i].name;

		r = ticket_check(walker->walk->ticket, err);
		if (r < 0)
			break;
		if (len > 1)
			buf_addc(&walker->path, '/');
		buf_add(&walker->path, name.ptr, name.len - (name.ptr[name.len - 1] == '/'));
		if (!walker->path.overflowed)
			r = visit_item(walker, dir, &listing->items[i], rules, err);
		else
			walker->walk->skipped++;
		walker->path.overflowed = false;
		buf_truncate(&walker->path, len);
	}
	return r;
}

static int walk_directory(
	struct walker *walker, int dir, const struct gitignore *inherited, struct err *err)
{
	owned(release_listing) struct listing listing = { 0 };
	owned(release_rules) struct rules rules = { 0 };

	if (list_directory(dir, &listing) < 0) {
		walker->walk->skipped++;
		return 0;
	}
	if (!walker->walk->no_ignore)
		inherited = enter_rules(dir, path_of(walker), inherited, listing.has_repository,
			listing.has_rules, &rules);
	return visit_all(walker, dir, &listing, inherited, err);
}

int filewalk_run(struct filewalk *walk, int start, struct str path, struct err *err)
{
	owned(release_ancestry) struct ancestry ancestry = { 0 };
	struct walker walker = { .walk = walk, .path = { .max = PATH_MAX } };
	const struct gitignore *rules = NULL;

	if (walk->depth > FILEWALK_DEPTH_MAX)
		walk->depth = FILEWALK_DEPTH_MAX;
	if (!walk->no_ignore)
		rules = inherit_rules(walk->gate, start, path, &ancestry);
	buf_add(&walker.path, path.ptr, path.len);
	int r = walk_directory(&walker, start, rules, err);
	buf_release(&walker.path);
	return r;
}
