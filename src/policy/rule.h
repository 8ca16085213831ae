/*
 * rule - rules about paths: how they are written, which paths they cover, and how two rules relate.
 *
 * A rule is "/" or a list of names, each with a '/' before it.  Until the rule is resolved, "~" or
 * "$WORKSPACE" may stand before the first '/'.  It covers every path that its names match, and
 * everything below such a path.  A name may have the globs of text_glob; the name "**" stands for
 * any number of names, none included, and never comes last.  Braces and brackets cannot contain a
 * '/', so a '/' always ends a name.
 *
 * Two rules are compared by their names alone.  The answers are not exact, but safe: if rule_within
 * says that a rule lies within another, it does, and an intersection never has a path that one of
 * the two rules does not cover.
 */
#pragma once
#include "core/arena.h"
#include "core/str.h"

#define RULE_BYTES_MAX 4096
#define RULE_NAMES_MAX 128

struct policy_place;

/*
 * Read a rule.  Returns the form in which it is kept, without doubled and trailing slashes, or NULL
 * with the reason in *why.
 */
const char *rule_read(struct str text, struct arena *arena, const char **why);
/*
 * Make a rule for a path and everything below it; glob characters in the path are quoted.  Returns
 * NULL if it has too many names.
 */
const char *rule_of_path(struct str path, struct arena *arena);
/*
 * Returns the only path that the names of a rule match, or NULL if it has globs or is not
 * resolved.
 */
const char *rule_path(const char *rule, struct arena *arena);
bool rule_is_resolved(const char *rule);
/* Returns the rule with its variable replaced, or NULL if it has too many names. */
const char *rule_resolve(const char *rule, const struct policy_place *place, struct arena *arena);

/*
 * Whether a rule covers a path, which is absolute, without "." and "..".  A rule that is not
 * resolved covers nothing.
 */
bool rule_covers(const char *rule, struct str path);
/*
 * Whether a rule covers path and names part, which is path or a directory above it: the first names
 * of the rule, up to some name, match part, and the last of these names are literally those of
 * tail.  If beside is not NULL, it also is literally one of these first names.
 */
bool rule_names(
	const char *rule, struct str path, struct str part, struct str tail, const char *beside);

bool rule_within(const char *rule, const char *other);   /* false if that is not certain */
bool rule_overlaps(const char *rule, const char *other); /* true if that is not certain */
/* Call found with rules, in arena, for the paths that both rules cover, until it returns false. */
void rule_intersect(const char *a, const char *b, struct arena *arena,
	bool (*found)(void *arg, const char *rule), void *arg);

/* The names of a rule, as parts of its text. */
struct rule_names {
	struct str root; /* "", "~" or "$WORKSPACE" */
	struct str list[RULE_NAMES_MAX];
	size_t n;
};
void rule_split(const char *rule, struct rule_names *out);
/* Whether a name of a rule has no globs. */
bool rule_is_literal(struct str name);
