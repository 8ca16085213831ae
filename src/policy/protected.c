#include "policy/protected.h"

#include "policy/rule.h"

#define GIT ".git"
#define SHELL_FILE(NAME)                                                                           \
	{                                                                                          \
		.name = (NAME), .what = "shell start-up files", .place = PROTECTED_HOME            \
	}
#define SHELL_DIRECTORY(NAME)                                                                      \
	{                                                                                          \
		.name = (NAME), .what = "shell start-up files", .place = PROTECTED_HOME,           \
		.is_directory = true                                                               \
	}

const struct protected_name protected_names[] = {
	/*
	 * ".git" may also be a file with the path of a repository.  If this file could be removed,
	 * a program could make another repository in its place.
	 */
	{ GIT, "git repository", PROTECTED_ANYWHERE, .is_directory = true, .alone = true },
	{ "hooks", "git hooks", PROTECTED_GIT, .is_directory = true },
	{ "config", "git configuration", PROTECTED_GIT, .by_git_config = true },
	{ "config.worktree", "git configuration", PROTECTED_GIT, .by_git_config = true },
	/*
	 * Through these files git gets from one repository to another, and so to hooks and
	 * configuration.
	 */
	{ "commondir", "git links", PROTECTED_GIT, .is_directory = false },
	{ "gitdir", "git links", PROTECTED_GIT, .is_directory = false },
	{ ".gitconfig", "git configuration", PROTECTED_HOME, .by_git_config = true },
	{ ".config/git", "git configuration", PROTECTED_HOME, .is_directory = true,
		.by_git_config = true },
	SHELL_FILE(".bashrc"),
	SHELL_FILE(".bash_profile"),
	SHELL_FILE(".bash_login"),
	SHELL_FILE(".bash_logout"),
	SHELL_FILE(".bash_aliases"),
	SHELL_FILE(".profile"),
	SHELL_FILE(".inputrc"),
	SHELL_FILE(".zshenv"),
	SHELL_FILE(".zprofile"),
	SHELL_FILE(".zshrc"),
	SHELL_FILE(".zlogin"),
	SHELL_FILE(".zlogout"),
	SHELL_FILE(".kshrc"),
	SHELL_FILE(".mkshrc"),
	SHELL_FILE(".cshrc"),
	SHELL_FILE(".tcshrc"),
	SHELL_FILE(".login"),
	SHELL_FILE(".logout"),
	SHELL_FILE(".config/fish/config.fish"),
	SHELL_DIRECTORY(".config/fish/conf.d"),
	SHELL_DIRECTORY(".config/fish/functions"),
	{ ".vscode", "editor configuration", PROTECTED_ANYWHERE, .is_directory = true },
	{ ".idea", "editor configuration", PROTECTED_ANYWHERE, .is_directory = true },
	{ ".mcp.json", "agent configuration", PROTECTED_ANYWHERE, .is_directory = false },
	{ ".claude", "agent configuration", PROTECTED_ANYWHERE, .is_directory = true },
	{ ".codex", "agent configuration", PROTECTED_ANYWHERE, .is_directory = true },
	{ 0 },
};

/* ------------------------------------------------------------------ in paths */

static bool is_refs(struct str name)
{
	return str_eq(name, STR("refs")) || str_eq(name, STR("logs"));
}

/*
 * Update the state of a walk when it leaves a name.  A branch may be called "hooks" or "config", so
 * files of such names in ".git/refs" and ".git/logs" are not protected.  Neither are such files in
 * "refs" and "logs" of a worktree.  Submodules may have any name, even "refs", so all protected
 * names in their directories are protected.
 */
static void leave_name(struct protected_walk *walk)
{
	if (str_eq(walk->name, STR(GIT))) {
		walk->in_git = 1;
		walk->worktree = walk->refs = false;
		return;
	}
	if (!walk->in_git)
		return;
	if (walk->in_git == 1)
		walk->worktree = str_eq(walk->name, STR("worktrees"));
	if (walk->in_git == 1 || (walk->in_git == 3 && walk->worktree))
		walk->refs |= is_refs(walk->name);
	walk->in_git++;
}

/* Go to the next name of the path.  Returns false at the end of the path. */
static bool enter_name(struct protected_walk *walk)
{
	struct str rest = { walk->path.ptr + walk->end, walk->path.len - walk->end };

	walk->name = str_take_name(&rest);
	walk->end = walk->path.len - rest.len;
	walk->row = 0;
	return walk->name.len;
}

void protected_begin(struct protected_walk *walk, const char *home, struct str path)
{
	*walk = (struct protected_walk){ .home = home, .path = path };
	if (!enter_name(walk))
		walk->path.len = walk->end = 0;
}

/*
 * Whether 'part' is the path of 'name' in the home directory.  The paths are compared name by name.
 */
static bool is_in_home(const char *home, const char *name, struct str part)
{
	struct str top = str_of(home), below = str_of(name), want;

	while ((want = str_take_name(&top)).len || (want = str_take_name(&below)).len)
		if (!str_eq(want, str_take_name(&part)))
			return false;
	return !str_take_name(&part).len;
}

static bool matches(const struct protected_walk *walk, const struct protected_name *row)
{
	if (row->alone && walk->end < walk->path.len)
		return false;
	switch (row->place) {
	case PROTECTED_ANYWHERE:
		return str_eq(walk->name, str_of(row->name));
	case PROTECTED_GIT:
		return walk->in_git && !walk->refs && str_eq(walk->name, str_of(row->name));
	default:
		return walk->home &&
		       is_in_home(walk->home, row->name, (struct str){ walk->path.ptr, walk->end });
	}
}

bool protected_next(struct protected_walk *walk, struct protected_match *out)
{
	if (!walk->name.len)
		return false;
	for (;;) {
		const struct protected_name *row = &protected_names[walk->row++];

		if (row->name && matches(walk, row)) {
			*out = (struct protected_match){ row, { walk->path.ptr, walk->end } };
			return true;
		}
		if (row->name)
			continue;
		leave_name(walk);
		if (!enter_name(walk))
			return false;
	}
}

/* ------------------------------------------------------------------ in rules */

/*
 * If the first n names of a rule end with the names of 'text', returns the number of names in
 * 'text'; else 0.
 */
static size_t names_before(const struct rule_names *rule, size_t n, struct str text)
{
	struct str count = text, name;
	size_t names = 0;

	while (str_take_name(&count).len)
		names++;
	for (size_t i = n - names; names <= n && (name = str_take_name(&text)).len; i++)
		if (!str_eq(rule->list[i], name))
			return 0;
	return names <= n ? names : 0;
}

static bool has_git(const struct rule_names *rule, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(rule->list[i], STR(GIT)))
			return true;
	return false;
}

size_t protected_in_rule(const struct rule_names *rule, size_t n)
{
	for (const struct protected_name *row = protected_names; row->name; row++) {
		size_t names = names_before(rule, n, str_of(row->name));

		if (names && (row->place != PROTECTED_GIT || has_git(rule, n)))
			return names;
	}
	return 0;
}
