/*
 * rule - rules about paths: their form, the paths that they cover, and comparisons of two rules.
 *
 * A rule is "/" or a list of names, each with a '/' before it.  Until the rule is resolved, "~" or
 * "$WORKSPACE" may stand before the first '/'.  A rule covers every path that its names match, and
 * everything below such a path.  A name may have the globs of text_glob.  The name "**" stands for
 * any number of names, including none, and is never the last name of a rule.  Braces and brackets
 * cannot contain a '/', so a '/' always ends a name.
 *
 * Two rules are compared by their names alone.  The results are not exact, but safe.  If
 * rule_within returns true, 'rule' certainly lies within 'other'.  Every path of an intersection is
 * covered by both rules.
 */
#pragma once
#include "core/arena.h"
#include "core/str.h"

#define RULE_BYTES_MAX 4096
#define RULE_NAMES_MAX 128

struct policy_place;

/*
 * Read a rule.  Returns the form that a policy stores, without doubled and trailing slashes, or
 * NULL with the reason in *why.
 */
const char *rule_read(struct str text, struct arena *arena, const char **why);
/*
 * Make a rule for a path and everything below it.  Glob characters in the path are quoted.  Returns
 * NULL if the path has too many names.
 */
const char *rule_of_path(struct str path, struct arena *arena);
/*
 * Returns the only path that the names of a rule match.  Returns NULL if the rule has globs or is
 * not resolved.
 */
const char *rule_path(const char *rule, struct arena *arena);
bool rule_is_resolved(const char *rule);
/* Returns the rule with its variable replaced, or NULL if the result has too many names. */
const char *rule_resolve(const char *rule, const struct policy_place *place, struct arena *arena);

/*
 * Whether a rule covers a path.  The path must be absolute, without "." and "..".  A rule that is
 * not resolved covers no path.
 */
bool rule_covers(const char *rule, struct str path);
/*
 * Whether a rule covers 'path' and names 'part', which is the path or a directory above it.  A rule
 * names 'part' if its first names match 'part' and end with the names of 'tail', without globs.  If
 * 'beside' is not NULL, one of these first names must also be 'beside', without globs.
 */
bool rule_names(
	const char *rule, struct str path, struct str part, struct str tail, const char *beside);

bool rule_within(const char *rule, const char *other);   /* false if this is not certain */
bool rule_overlaps(const char *rule, const char *other); /* true if this is not certain */
/*
 * Call 'found' with rules that together cover the paths that the rules a and b both cover, until
 * 'found' returns false.  The arena owns these rules.
 */
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
