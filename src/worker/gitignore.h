/*
 * gitignore - the rules of .gitignore files, and whether they ignore a path.
 *
 * The rules of one file are one struct gitignore; those of the directories above it are reached
 * through above, and the nearest one that has a rule for a path decides.  The last rule of a file
 * counts.  Patterns mean what they mean to git, to the byte.  What git gets from ignored parent
 * directories is the caller's: nothing below an ignored directory is asked about.
 */
#pragma once
#include <stdbool.h>

#include "core/str.h"

#define GITIGNORE_SIZE_MAX ((size_t)1 << 20) /* what is behind that is not read */
#define GITIGNORE_STEPS 100000               /* of matching one rule; no match then */

struct gitignore {
	const struct gitignore *above; /* borrowed */
	size_t base; /* length of the directory's path, with the slash behind it */
	struct gitignore_rule *rules;
	size_t n, cap;
	char *text;
};

/* path: the directory of the file whose content is text. */
void gitignore_init(
	struct gitignore *ignore, const struct gitignore *above, struct str path, struct str text);
void gitignore_release(struct gitignore *ignore);
/* ignore may be NULL.  path begins with the directories of all the files. */
bool gitignore_has(const struct gitignore *ignore, struct str path, bool is_dir);

/* A pattern of git without its marks against a path; for tests and fuzzing. */
bool gitignore_matches(struct str pattern, struct str path);
