/*
 * protected - names that no program may write unless a policy names them.  By files with such
 * names, a program could make commands of its choice run later, outside of the sandbox.
 *
 * The names are hooks and configuration of git (also in nested repositories, worktrees and
 * submodules), start-up files of shells, and configuration of editors and agents.  The table lists
 * them.  confine/ keeps such names from being written, renamed, removed and made.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

enum protected_place {
	PROTECTED_ANYWHERE, /* in every directory */
	PROTECTED_GIT,      /* at any depth below a directory ".git", except among its refs */
	PROTECTED_HOME,     /* in the home directory */
};

struct protected_name {
	const char *name; /* one name; for PROTECTED_HOME also several, with '/' between them */
	const char *what; /* the class of the name, such as "git hooks" */
	enum protected_place place;
	bool is_directory;
	bool alone;         /* only the name itself is protected, and nothing below it */
	bool by_git_config; /* not protected if the policy has allow_git_config */
};

extern const struct protected_name protected_names[]; /* the table ends with a NULL name */

/* A protected name among the names of a path. */
struct protected_match {
	const struct protected_name *name;
	struct str part; /* beginning of the path, up to and including the name */
};

/*
 * Visits the protected names among the names of a path.  The path must be absolute, without "." and
 * "..".
 */
struct protected_walk {
	const char *home; /* NULL: not known */
	struct str path;
	size_t end;      /* length of the beginning of 'path' that ends with 'name' */
	struct str name; /* the name of 'path' that the walk has come to */
	size_t row;      /* the next row of the table to compare with */
	size_t in_git;   /* number of names that follow the last ".git"; 0: none */
	bool worktree;   /* the first of these names is "worktrees" */
	bool refs;       /* one of these names is a directory of refs */
};
void protected_begin(struct protected_walk *walk, const char *home, struct str path);
bool protected_next(struct protected_walk *walk, struct protected_match *out);

struct rule_names;
/*
 * If the first n names of a rule end in a protected name, written without globs, returns the number
 * of names that the protected name has; else 0.
 */
size_t protected_in_rule(const struct rule_names *rule, size_t n);
