/*
 * protected - names that nobody writes unless a policy names them: what would run commands of the
 * program's choice later, outside of the sandbox.
 *
 * Hooks and configuration of git (of nested repositories, worktrees and submodules too), start-up
 * files of shells, configuration of editors and agents.  The table says which; confine/ keeps
 * such names from being written, renamed away and made.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

enum protected_place {
	PROTECTED_ANYWHERE, /* in every directory */
	PROTECTED_GIT,  /* in a directory ".git" at any depth, except where that has only refs */
	PROTECTED_HOME, /* in the home directory */
};

struct protected_name {
	const char *name; /* one name, or several with '/' for PROTECTED_HOME */
	const char *what; /* the class: "git hooks" */
	enum protected_place place;
	bool is_directory;
	bool alone;         /* the name itself, and nothing below it */
	bool by_git_config; /* not protected if the policy has allow_git_config */
};

extern const struct protected_name protected_names[]; /* ends with a NULL name */

/* A protected name on the way to a path. */
struct protected_match {
	const struct protected_name *name;
	struct str part; /* the path up to and with the name */
};

/* Visits the protected names on the way to a path that is absolute, without "." and "..". */
struct protected_walk {
	const char *home; /* NULL: not known */
	struct str path;
	size_t end;      /* of the part that is looked at */
	struct str name; /* the last one of the part */
	size_t row;      /* of the table, the next one to look at */
	size_t in_git;   /* how many names the part has behind the last ".git"; 0: none */
	bool worktree;   /* the first of these is "worktrees" */
	bool refs;       /* one of these is a directory of refs */
};
void protected_begin(struct protected_walk *walk, const char *home, struct str path);
bool protected_next(struct protected_walk *walk, struct protected_match *out);

struct rule_names;
/* Whether the first n names of a rule end, literally, in a protected name; how many they are. */
size_t protected_in_rule(const struct rule_names *rule, size_t n);
