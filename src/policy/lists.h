/*
 * lists - lists of rules.  A list grows in an arena and is never changed in place, so lists can be
 * shared between policies.
 */
#pragma once
#include "policy/policy.h"

struct lists_builder {
	struct arena *arena;
	struct policy_list list;
	size_t room;
};

void lists_add(struct lists_builder *builder, const char *text);
/* The same unless the text is in the list. */
void lists_add_new(struct lists_builder *builder, const char *text);
bool lists_has(const struct policy_list *list, const char *text);
/* All of a, and what b has besides. */
struct policy_list lists_unite(
	const struct policy_list *a, const struct policy_list *b, struct arena *arena);
/* The list without the texts that denied has, too. */
struct policy_list lists_without(
	const struct policy_list *list, const struct policy_list *denied, struct arena *arena);
/* The first rule of a list of paths that this one is within, for sure; or NULL. */
const char *lists_wider(const struct policy_list *list, const char *rule);
/* Whether a path may be covered by both the rule and one of the list. */
bool lists_overlap(const struct policy_list *list, const char *rule);
/* The rules of a list that overlap one of others. */
struct policy_list lists_overlapping(
	const struct policy_list *list, const struct policy_list *others, struct arena *arena);
/* The first rule of a list of paths that covers the path, or NULL. */
const char *lists_covering(const struct policy_list *list, struct str path);
