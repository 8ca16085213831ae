/*
 * rule - rules about paths: how they are written, which paths they cover, and how two of them
 * relate.
 *
 * A rule is "/" or a list of names, each behind a '/', where the first may be "~" or "$WORKSPACE"
 * until the rule is resolved.  It covers every path that its names match, and everything below
 * such a path.  A name may have the globs of text_glob; the name "**" stands for any number of
 * names, none included, and never comes last.  Braces and brackets hold no '/', so a '/' always
 * ends a name.
 *
 * Two rules are compared by their names alone.  The answers are safe, not exact: a rule that is
 * said to be within another one is, and an intersection never has a path that one of both lacks.
 */
#pragma once
#include "core/arena.h"
#include "core/str.h"

#define RULE_BYTES_MAX 4096
#define RULE_NAMES_MAX 128

struct policy_place;

/* The rule as it is kept, without doubled and trailing slashes; NULL and *why: it is malformed. */
const char *rule_read(struct str text, struct arena *arena, const char **why);
/* A rule for this path alone, and what is below: globs in it are quoted.  NULL: too many names. */
const char *rule_of_path(struct str path, struct arena *arena);
/* The only path whose names match; NULL if there may be several, or it is not resolved. */
const char *rule_path(const char *rule, struct arena *arena);
bool rule_is_resolved(const char *rule);
/* The rule with the variable replaced; NULL: too many names. */
const char *rule_resolve(const char *rule, const struct policy_place *place, struct arena *arena);

/* path is absolute and has no "." and "..".  A rule that is not resolved covers nothing. */
bool rule_covers(const char *rule, struct str path);
/*
 * Whether the rule covers path by a name inside or at part, which is the path or a directory above
 * it: some first names of the rule match part, and the last of these are literally those of tail.
 * With beside, that name stands literally before them, too.
 */
bool rule_names(
	const char *rule, struct str path, struct str part, struct str tail, const char *beside);

bool rule_within(const char *rule, const char *other);   /* false if that is not certain */
bool rule_overlaps(const char *rule, const char *other); /* true if that is not certain */
/* Give paths that both cover, as rules in the arena; false from found stops. */
void rule_intersect(const char *a, const char *b, struct arena *arena,
	bool (*found)(void *arg, const char *rule), void *arg);

/* The names of a rule, for those who look at each; the text is that of the rule. */
struct rule_names {
	struct str root; /* "", "~" or "$WORKSPACE" */
	struct str list[RULE_NAMES_MAX];
	size_t n;
};
void rule_split(const char *rule, struct rule_names *out);
/* Whether a name of a rule stands for itself. */
bool rule_is_literal(struct str name);
