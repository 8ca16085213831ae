/*
 * gitignore - the rules of .gitignore files, and whether they ignore a path.
 *
 * A struct gitignore has the rules of one file.  Its member 'above' leads to the rules of the
 * directories above.  The nearest file that has a rule for a path decides.  If that file has
 * several rules for the path, the last one decides.  Patterns have exactly the meaning that they
 * have in git.  git also ignores everything below an ignored directory.  So the caller must not ask
 * about paths below such a directory.
 */
#pragma once
#include <stdbool.h>

#include "core/str.h"

#define GITIGNORE_SIZE_MAX ((size_t)1 << 20) /* bytes of a file that are read */
#define GITIGNORE_STEPS 100000 /* number of steps after which a rule counts as not matching */

struct gitignore {
	const struct gitignore *above; /* borrowed */
	size_t base; /* length of the directory's path, including the slash at its end */
	struct gitignore_rule *rules;
	size_t n, cap;
	char *text;
};

/* Read the rules in 'text', which is the content of a file in the directory 'path'. */
void gitignore_init(
	struct gitignore *ignore, const struct gitignore *above, struct str path, struct str text);
void gitignore_release(struct gitignore *ignore);
/*
 * Whether the rules in 'ignore', or those of the directories above, ignore a path.  The path must
 * be below the directory of 'ignore'.  If 'ignore' is NULL, there are no rules.
 */
bool gitignore_has(const struct gitignore *ignore, struct str path, bool is_dir);

/*
 * Whether a path matches a pattern of git.  A '!' at the start of the pattern, and a '/' at its
 * start or its end, must have been removed.  Exported for tests and fuzzing.
 */
bool gitignore_matches(struct str pattern, struct str path);
