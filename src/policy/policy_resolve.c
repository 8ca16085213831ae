/* policy_resolve - resolves a policy for one home and one workspace. */
#include "policy/keys.h"
#include "policy/lists.h"
#include "policy/oddities.h"
#include "policy/rule.h"

static int resolve_list(const struct keys_key *key, const struct policy_place *place,
	struct arena *arena, struct policy_list *list, struct err *err)
{
	struct lists_builder builder = { .arena = arena };
	char path[KEYS_TEXT_MAX];

	for (size_t i = 0; i < list->n; i++) {
		const char *rule = rule_resolve(list->list[i], place, arena);

		if (!rule)
			return err_set(err, ERR_INVALID, "%s: '%.200s' has too many names",
				keys_text(key, path), list->list[i]);
		lists_add_new(&builder, rule);
	}
	*list = builder.list;
	return 0;
}

static int check_place(const char *what, const char *path, struct err *err)
{
	return path[0] == '/'
		       ? 0
		       : err_set(err, ERR_INVALID, "the %s '%.200s' is not absolute", what, path);
}

int policy_resolve(const struct policy *policy, const struct policy_place *place,
	struct arena *arena, struct policy *out, struct err *err)
{
	struct policy resolved = *policy;
	int r = check_place("home", place->home, err);

	if (r >= 0)
		r = check_place("workspace", place->workspace, err);
	if (r < 0)
		return r;
	resolved.place.home = arena_strdup(arena, place->home);
	resolved.place.workspace = arena_strdup(arena, place->workspace);
	for (const struct keys_key *key = keys_all; key->name && r >= 0; key++)
		if (key->kind == KEYS_PATHS)
			r = resolve_list(key, place, arena, keys_slot(key, &resolved), err);
	if (r < 0)
		return r;
	resolved.warnings = oddities_list(&resolved, arena);
	/*
	 * Drop exceptions that lift no denial, since they would allow reading elsewhere.  These
	 * exceptions are known only after the variables are replaced.
	 */
	resolved.fs.allow_read_within_deny = lists_overlapping(
		&resolved.fs.allow_read_within_deny, &resolved.fs.deny_read, arena);
	*out = resolved;
	return 0;
}
