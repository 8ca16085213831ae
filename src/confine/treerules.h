/*
 * treerules - finds the files of a tree that the rules of a policy cover.
 *
 * The kernel can restrict only files that exist.  So before a program starts, each glob is replaced
 * by the paths that match it.  The directories that the program may write are searched for names
 * that are always protected.  The tree is the root of this process.
 */
#pragma once
#include "policy/policy.h"

/* Whether a path lies in /proc, /sys or /dev, where only the kernel restricts files. */
bool treerules_is_the_kernels(const char *path);

#define TREERULES_LOOKS_MAX 500000 /* names that one search may look at */
#define TREERULES_FOUND_MAX 4096

/*
 * Set *out to the paths of rules without globs, and the paths that match rules with globs.  The
 * arena owns them.  Matches below another match of the same rule are left out.  If 'denies' is set,
 * a path is also listed if only its last name does not exist and the rule has that name without a
 * glob.  A glob that matches no file gets a line in 'warnings'.  ERR_LIMIT names the rule whose
 * search would look at too many names.
 */
int treerules_expand(const struct policy_list *rules, bool denies, struct arena *arena,
	struct policy_list *out, struct buf *warnings, struct err *err);

enum treerules_state {
	TREERULES_PRESENT,     /* the name exists, and no program may change it */
	TREERULES_ABSENT_DIR,  /* the name does not exist; its stub is a directory */
	TREERULES_ABSENT_FILE, /* the name does not exist; its stub is a file */
	TREERULES_ABSENT_LINK, /* the name does not exist; its stub is a file with the line "." */
	TREERULES_HOLDER, /* a directory that has protected names in it and may not be renamed */
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
 * Set *out to the names in writable directories that are always protected (verdict_protected), down
 * to the depth policy->fs.search_depth.  Names that do not exist are protected in the workspace, in
 * the home directory and in repositories.  'writable' is policy->fs.allow_write with globs
 * expanded.
 */
int treerules_protected(const struct policy *policy, const struct policy_list *writable,
	struct arena *arena, struct treerules_names *out, struct err *err);
