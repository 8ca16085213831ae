/*
 * A search lists directories and follows no symbolic links.  It leaves out /proc, /sys and /dev,
 * because the kernel makes the files there.
 *
 * A repository is searched deeper than other directories, because its submodules have hooks and
 * configurations of their own in .git/modules, and its worktrees in .git/worktrees.
 */
#include "confine/treerules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/stub.h"
#include "policy/protected.h"
#include "policy/rule.h"
#include "policy/verdict.h"

/* The search depth within .git/modules, which has a directory for each submodule's path. */
#define REPOSITORY_DEPTH 8

/* ---------------------------------------------------------- walking the tree */

struct search {
	size_t looks;
	/*
	 * Called for each name.  Returns 1 to search the directory of this name, 0 to leave it out,
	 * or a negative error to stop.
	 */
	int (*visit)(
		struct search *search, const char *path, int depth, bool is_dir, struct err *err);
	void *arg;
};

bool treerules_is_the_kernels(const char *path)
{
	static const char *const dirs[] = { "/dev", "/proc", "/sys" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (str_within(str_of(path), str_of(dirs[i])))
			return true;
	return false;
}

/*
 * Whether an entry is a directory.  Some file systems list no types, so the type may have to be
 * read from the file.
 */
static bool is_directory(int dir, const struct dirent *entry)
{
	struct statx stx;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return at_name_stat(dir, entry->d_name, &stx) == 0 && S_ISDIR(stx.stx_mode);
}

static int search_dir(struct search *search, int fd, const char *path, int depth, struct err *err);

static int search_name(struct search *search, int dir, const char *parent,
	const struct dirent *entry, int depth, struct err *err)
{
	bool is_dir = is_directory(dir, entry);
	owned_mem char *path =
		mem_printf("%s/%s", strcmp(parent, "/") ? parent : "", entry->d_name);

	if (treerules_is_the_kernels(path))
		return 0;
	if (++search->looks > TREERULES_LOOKS_MAX)
		return err_set(
			err, ERR_LIMIT, "more than %d names to look at", TREERULES_LOOKS_MAX);
	int r = search->visit(search, path, depth, is_dir, err);
	if (r <= 0 || !is_dir)
		return r < 0 ? r : 0;
	/* If this process cannot open a directory, a program cannot reach anything in it either. */
	int fd = at_name_open(dir, entry->d_name, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? 0 : search_dir(search, fd, path, depth + 1, err);
}

/* Search a directory.  The descriptor fd is taken over. */
static int search_dir(struct search *search, int fd, const char *path, int depth, struct err *err)
{
	owned(at_list_closep) DIR *list = at_list_take(fd);
	const struct dirent *entry;

	while (list && (entry = at_list_next(list))) {
		int r = search_name(search, dirfd(list), path, entry, depth, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int search_below(struct search *search, const char *path, struct err *err)
{
	struct err missing = { 0 };
	int fd = at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &missing);

	return fd < 0 ? 0 : search_dir(search, fd, path, 0, err);
}

/* ----------------------------------------------------------- expanding globs */

/*
 * Whether a file exists.  A stub does not count: strata has made it, to keep a name from being used
 * (core/stub.h).
 */
static bool exists(const char *path)
{
	return !stub_or_nothing(path);
}

struct expansion {
	struct arena *arena;
	bool denies; /* the rules are denials, which also cover files that do not exist */
	const char *rule;
	const char *name; /* added to the path of each match, such as "/NAME"; "" to add nothing */
	size_t there;     /* matches of this rule that exist */
	const char **list;
	size_t n, capacity;
};

static void add_path(struct expansion *expansion, const char *path)
{
	mem_grow(&expansion->list, &expansion->capacity, expansion->n);
	expansion->list[expansion->n++] = arena_strdup(expansion->arena, path);
}

/*
 * Add a match.  The search does not continue inside the match, since the rule covers everything in
 * it.
 */
static int visit_match(
	struct search *search, const char *path, int depth, bool is_dir, struct err *err)
{
	struct expansion *expansion = search->arg;

	if (!rule_covers(expansion->rule, str_of(path)))
		return 1;
	if (*expansion->name && !is_dir)
		return 0;
	if (expansion->n == TREERULES_FOUND_MAX)
		return err_set(
			err, ERR_LIMIT, "it matches more than %d files", TREERULES_FOUND_MAX);
	owned_mem char *place = mem_printf("%s%s", path, expansion->name);
	add_path(expansion, place);
	expansion->there += exists(place);
	return 0;
}

/* Returns the directory that the rule's first names, up to the first glob, lead to. */
static const char *literal_part(const char *rule, struct arena *arena)
{
	struct rule_names names;
	const char *end = rule;

	rule_split(rule, &names);
	for (size_t i = 0; i < names.n && rule_is_literal(names.list[i]); i++)
		end = names.list[i].ptr + names.list[i].len;
	const char *part = arena_printf(arena, "%.*s", (int)(end - rule), rule);
	return *part ? rule_path(part, arena) : "/";
}

/*
 * The last name of a denial may be literal, for instance in "build-?/secret".  For such a denial,
 * the search looks only for the directories that the other names match, and the last name is added
 * to the path of each directory.  In this way the name can be reserved in directories that do not
 * have it yet.  Rules with "**" are left out, because they would match every directory of a tree.
 */
static void set_aside_name(struct expansion *expansion)
{
	struct rule_names names;

	expansion->name = "";
	rule_split(expansion->rule, &names);
	const struct str *last = &names.list[names.n - 1];
	if (!expansion->denies || names.n < 2 || !rule_is_literal(*last))
		return;
	for (size_t i = 0; i < names.n; i++)
		if (str_eq(names.list[i], STR("**")))
			return;
	expansion->name =
		rule_path(arena_printf(expansion->arena, "/%.*s", (int)last->len, last->ptr),
			expansion->arena);
	expansion->rule = arena_printf(
		expansion->arena, "%.*s", (int)(last->ptr - 1 - expansion->rule), expansion->rule);
}

static int expand_glob(struct expansion *expansion, struct buf *warnings, struct err *err)
{
	struct search search = { .visit = visit_match, .arg = expansion };
	const char *rule = expansion->rule, *below = literal_part(rule, expansion->arena);
	size_t before = expansion->n;

	expansion->there = 0;
	set_aside_name(expansion);
	if (search_below(&search, below, err) < 0)
		return err_context(err, "policy: '%s'", rule);
	if (!expansion->there)
		buf_addf(warnings, "'%s' matches no file now; %s\n", rule,
			expansion->n > before
				? "that name cannot be made in the directories there are"
				: "what appears later is not covered");
	return 0;
}

int treerules_expand(const struct policy_list *rules, bool denies, struct arena *arena,
	struct policy_list *out, struct buf *warnings, struct err *err)
{
	struct expansion expansion = { .arena = arena, .denies = denies };
	int r = 0;

	for (size_t i = 0; i < rules->n && r >= 0; i++) {
		expansion.rule = rules->list[i];
		const char *path = rule_path(expansion.rule, arena);

		if (path)
			add_path(&expansion, path);
		else
			r = expand_glob(&expansion, warnings, err);
	}
	if (r >= 0) {
		out->list = arena_alloc(arena, (expansion.n + 1) * sizeof(*out->list));
		if (expansion.n)
			memcpy(out->list, expansion.list, expansion.n * sizeof(*out->list));
		out->n = expansion.n;
	}
	free(expansion.list);
	return r < 0 ? r : 0;
}

/* ----------------------------------------------------------- protected names */

struct protection {
	const struct policy *policy;
	struct arena *arena;
	struct treerules_name *list;
	size_t n, capacity;
};

static bool is_known(const struct protection *found, const char *path)
{
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->list[i].path, path))
			return true;
	return false;
}

static int add_name(
	struct protection *found, const char *path, enum treerules_state state, struct err *err)
{
	if (is_known(found, path))
		return 0;
	if (found->n == TREERULES_FOUND_MAX)
		return err_set(err, ERR_LIMIT, "more than %d protected names", TREERULES_FOUND_MAX);
	mem_grow(&found->list, &found->capacity, found->n);
	found->list[found->n++] =
		(struct treerules_name){ arena_strdup(found->arena, path), state };
	return 0;
}

static bool is_protected(const struct protection *found, const char *path)
{
	return verdict_protected(found->policy, str_of(path));
}

static bool is_named_git(const char *path)
{
	return !strcmp(strrchr(path, '/') + 1, ".git");
}

static bool is_git_directory(const char *path)
{
	struct statx stx;

	return is_named_git(path) && at_abs_stat_strictly(path, &stx) == 0 && S_ISDIR(stx.stx_mode);
}

static enum treerules_state absent(bool is_directory)
{
	return is_directory ? TREERULES_ABSENT_DIR : TREERULES_ABSENT_FILE;
}

/* Protect a name in a directory.  A name that does not exist gets the state 'missing'. */
static int protect_name(struct protection *found, const char *dir, const char *name,
	enum treerules_state missing, struct err *err)
{
	owned_mem char *path = mem_printf("%s/%s", strcmp(dir, "/") ? dir : "", name);

	if (!is_protected(found, path))
		return 0;
	enum treerules_state state = exists(path) ? TREERULES_PRESENT : missing;
	/*
	 * A repository is not protected as a whole, because git writes into it.  Its names are
	 * protected one by one.
	 */
	if (state == TREERULES_PRESENT && is_git_directory(path))
		return 0;
	return add_name(found, path, state, err);
}

/*
 * Protect the names in the directory of a repository, a submodule or a worktree.  Otherwise the
 * program could add hooks there.
 */
static int protect_repository(struct protection *found, const char *path, struct err *err)
{
	static const struct {
		const char *name;
		enum treerules_state missing;
	} names[] = {
		{ "hooks", TREERULES_ABSENT_DIR },
		{ "config", TREERULES_ABSENT_FILE },
		{ "config.worktree", TREERULES_ABSENT_FILE },
		{ "commondir", TREERULES_ABSENT_LINK },
	};
	int r = add_name(found, path, TREERULES_HOLDER, err);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r >= 0; i++)
		r = protect_name(found, path, names[i].name, names[i].missing, err);
	return r;
}

/*
 * Whether a directory has a file that only directories of git have.  HEAD alone is not enough: a
 * program may rename HEAD, and put it back when the next command has decided that the directory is
 * not one of git.
 */
static bool is_repository(const char *path)
{
	static const char *const names[] = { "HEAD", "config", "commondir", "gitdir", "objects",
		"refs" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		owned_mem char *name = mem_printf("%s/%s", path, names[i]);

		if (exists(name))
			return true;
	}
	return false;
}

static bool is_in_repository(const char *path)
{
	return strstr(path, "/.git/");
}

/*
 * Whether a directory belongs to a repository, or to a submodule or worktree of one.  The hooks of
 * a submodule lie in .git/modules/NAME/hooks, where NAME may have slashes.
 */
static bool holds_hooks(const char *path)
{
	return is_named_git(path) ? exists(path) : is_in_repository(path) && is_repository(path);
}

static int visit_name(
	struct search *search, const char *path, int depth, bool is_dir, struct err *err)
{
	struct protection *found = search->arg;
	bool inside = is_in_repository(path);

	if (is_dir && holds_hooks(path)) {
		if (protect_repository(found, path, err) < 0)
			return -(int)err->code;
	} else if (is_protected(found, path)) {
		const enum treerules_state state =
			exists(path) ? TREERULES_PRESENT : absent(is_dir);

		return add_name(found, path, state, err) < 0 ? -(int)err->code : 0;
	}
	if (is_named_git(path))
		return 1;
	if (inside)
		return depth < REPOSITORY_DEPTH + found->policy->fs.search_depth &&
		       (strstr(path, "/.git/modules") || strstr(path, "/.git/worktrees"));
	return depth < found->policy->fs.search_depth;
}

/*
 * Returns the kind of stub that reserves a name.  In a work tree the stub is a directory, even for
 * the name of a file.  The reason is git, which would add an empty file to a commit, but no empty
 * directory.
 */
static enum treerules_state stand_in(const struct protected_name *name)
{
	return absent(name->is_directory || name->place == PROTECTED_ANYWHERE);
}

/*
 * Reserve the protected names of a directory that do not exist yet, since the program could make
 * them.
 */
static int protect_absent(
	struct protection *found, const char *dir, enum protected_place place, struct err *err)
{
	int r = 0;

	for (const struct protected_name *name = protected_names; name->name && r >= 0; name++)
		if (name->place == place)
			r = protect_name(found, dir, name->name, stand_in(name), err);
	return r;
}

/*
 * Protect names in the workspace.  The name of a repository is reserved as well, because the
 * program would choose the hooks of a new repository.
 */
static int protect_workspace(struct protection *found, const char *dir, struct err *err)
{
	owned_mem char *git = mem_printf("%s/.git", strcmp(dir, "/") ? dir : "");
	owned_mem char *hooks = mem_printf("%s/hooks", git);
	int r = protect_absent(found, dir, PROTECTED_ANYWHERE, err);

	if (r >= 0 && !exists(git) && is_protected(found, hooks))
		r = add_name(found, git, TREERULES_ABSENT_DIR, err);
	return r;
}

static bool is_writable(const struct policy_list *writable, const char *path)
{
	for (size_t i = 0; i < writable->n; i++)
		if (!strcmp(writable->list[i], "/") ||
			str_within(str_of(path), str_of(writable->list[i])))
			return true;
	return false;
}

static int protect_all(
	struct protection *found, const struct policy_list *writable, struct err *err)
{
	const struct policy_place *place = &found->policy->place;
	struct search search = { .visit = visit_name, .arg = found };
	int r = 0;

	if (is_writable(writable, place->workspace))
		r = protect_workspace(found, place->workspace, err);
	if (r >= 0 && is_writable(writable, place->home))
		r = protect_absent(found, place->home, PROTECTED_HOME, err);
	/*
	 * The workspace is searched by itself, because it may lie too deep for the search that
	 * starts at the writable directory.
	 */
	if (r >= 0 && is_writable(writable, place->workspace))
		r = search_below(&search, place->workspace, err);
	for (size_t i = 0; i < writable->n && r >= 0; i++)
		r = search_below(&search, writable->list[i], err);
	return r;
}

int treerules_protected(const struct policy *policy, const struct policy_list *writable,
	struct arena *arena, struct treerules_names *out, struct err *err)
{
	struct protection found = { .policy = policy, .arena = arena };
	int r = protect_all(&found, writable, err);

	if (r >= 0) {
		out->n = found.n;
		out->list = arena_alloc(arena, (found.n + 1) * sizeof(*out->list));
		if (found.n)
			memcpy(out->list, found.list, found.n * sizeof(*out->list));
	} else {
		err_context(err, "search for names to protect");
	}
	free(found.list);
	return r < 0 ? r : 0;
}
