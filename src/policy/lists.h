/*
 * lists - lists of rules.  A list is built in an arena.  A finished list does not change, so
 * policies can share it.
 */
#pragma once
#include "policy/policy.h"

struct lists_builder {
	struct arena *arena;
	struct policy_list list;
	size_t room;
};

void lists_add(struct lists_builder *builder, const char *text);
/* Add a text, unless the list already has it. */
void lists_add_new(struct lists_builder *builder, const char *text);
bool lists_has(const struct policy_list *list, const char *text);
/* Returns the texts of the list a, and those texts of the list b that a does not have. */
struct policy_list lists_unite(
	const struct policy_list *a, const struct policy_list *b, struct arena *arena);
/* Returns those texts of a list that the list 'denied' does not have. */
struct policy_list lists_without(
	const struct policy_list *list, const struct policy_list *denied, struct arena *arena);
/*
 * Returns the first rule of a list that certainly covers every path that 'rule' covers, or NULL.
 * The list must have rules about paths.
 */
const char *lists_wider(const struct policy_list *list, const char *rule);
/* Whether a path may exist that both this rule and a rule of the list cover. */
bool lists_overlap(const struct policy_list *list, const char *rule);
/* Returns the rules of a list that may overlap a rule of the list 'others'. */
struct policy_list lists_overlapping(
	const struct policy_list *list, const struct policy_list *others, struct arena *arena);
/* Returns the first rule of a list that covers a path, or NULL. */
const char *lists_covering(const struct policy_list *list, struct str path);
