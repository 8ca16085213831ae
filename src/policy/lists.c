#include "policy/lists.h"

#include "policy/rule.h"

void lists_add(struct lists_builder *builder, const char *text)
{
	struct policy_list *list = &builder->list;

	if (list->n == builder->room) {
		size_t room = builder->room ? builder->room * 2 : 8;
		const char **longer = arena_alloc(builder->arena, room * sizeof(*longer));

		if (list->n)
			memcpy(longer, list->list, list->n * sizeof(*longer));
		list->list = longer;
		builder->room = room;
	}
	list->list[list->n++] = text;
}

bool lists_has(const struct policy_list *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->list[i], text))
			return true;
	return false;
}

void lists_add_new(struct lists_builder *builder, const char *text)
{
	if (!lists_has(&builder->list, text))
		lists_add(builder, text);
}

struct policy_list lists_unite(
	const struct policy_list *a, const struct policy_list *b, struct arena *arena)
{
	struct lists_builder builder = { .arena = arena };

	for (size_t i = 0; i < a->n; i++)
		lists_add_new(&builder, a->list[i]);
	for (size_t i = 0; i < b->n; i++)
		lists_add_new(&builder, b->list[i]);
	return builder.list;
}

struct policy_list lists_without(
	const struct policy_list *list, const struct policy_list *denied, struct arena *arena)
{
	struct lists_builder builder = { .arena = arena };

	for (size_t i = 0; i < list->n; i++)
		if (!lists_has(denied, list->list[i]))
			lists_add(&builder, list->list[i]);
	return builder.list;
}

const char *lists_covering(const struct policy_list *list, struct str path)
{
	for (size_t i = 0; i < list->n; i++)
		if (rule_covers(list->list[i], path))
			return list->list[i];
	return NULL;
}

bool lists_overlap(const struct policy_list *list, const char *rule)
{
	for (size_t i = 0; i < list->n; i++)
		if (rule_overlaps(rule, list->list[i]))
			return true;
	return false;
}

struct policy_list lists_overlapping(
	const struct policy_list *list, const struct policy_list *others, struct arena *arena)
{
	struct lists_builder builder = { .arena = arena };

	for (size_t i = 0; i < list->n; i++)
		if (lists_overlap(others, list->list[i]))
			lists_add(&builder, list->list[i]);
	return builder.list;
}

const char *lists_wider(const struct policy_list *list, const char *rule)
{
	for (size_t i = 0; i < list->n; i++)
		if (rule_within(rule, list->list[i]))
			return list->list[i];
	return NULL;
}
