/*
 * treerules - finds the files of a tree that the rules of a policy stand for.
 *
 * The kernel restricts files that exist.  So before a program starts, globs are replaced by the
 * paths that match, and names that are always protected are searched for in the directories that
 * the program may write.  The tree is the root of this process.
 */
#pragma once
#include "policy/policy.h"

/* Whether a file is one of the kernel's own, which the kernel alone restricts. */
bool treerules_is_the_kernels(const char *path);

#define TREERULES_LOOKS_MAX 500000 /* names that one search looks at */
#define TREERULES_FOUND_MAX 4096

/*
 * The paths of rules without globs, and the paths that match those with globs, in arena.  A path
 * below another match is left out.  Rules that deny have paths that do not exist, too, where only a
 * last name is missing that has no glob.  A glob that matches no file gets a line in warnings.
 * ERR_LIMIT: a search would look at too many names, and the message names the rule.
 */
int treerules_expand(const struct policy_list *rules, bool denies, struct arena *arena,
	struct policy_list *out, struct buf *warnings, struct err *err);

enum treerules_state {
	TREERULES_PRESENT,     /* it exists: nobody may change it */
	TREERULES_ABSENT_DIR,  /* it does not, and nobody may make it */
	TREERULES_ABSENT_FILE, /* the same for what would be a file */
	TREERULES_ABSENT_LINK, /* the same for a file that leads git to another repository */
	TREERULES_HOLDER,      /* a directory with protected names: it may not be renamed */
};

struct treerules_name {
	const char *path;
	enum treerules_state state;
};

struct treerules_names {
	struct treerules_name *list;
	size_t n;
};

/*
 * The names below writable directories that are always protected (verdict_protected), as deep as
 * policy->fs.search_depth says.  Names that do not exist are protected in the workspace, in the
 * home directory and in repositories.  writable is policy->fs.allow_write without globs.
 */
int treerules_protected(const struct policy *policy, const struct policy_list *writable,
	struct arena *arena, struct treerules_names *out, struct err *err);
