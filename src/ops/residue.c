#include "ops/residue.h"

#include "core/own.h"

#define SETTING "residue"

int residue_note(
	struct env *env, const struct hash *wanted, const struct hash *became, struct err *err)
{
	char hex[HASH_HEX];

	return history_meta_set(&env->history, SETTING,
		hash_eq(wanted, became) ? NULL : hash_hex(became, hex), err);
}

bool residue_is(struct env *env, const struct hash *tree)
{
	owned(arena_release) struct arena arena = { 0 };
	struct err ignored = { 0 };
	struct hash residue;
	char *text = NULL;

	return history_meta(&env->history, SETTING, &arena, &text, &ignored) >= 0 && text &&
	       hash_parse(text, &residue) && hash_eq(&residue, tree);
}
