#include "policy/compose.h"

#include "core/own.h"
#include "core/text.h"
#include "policy/domains.h"
#include "policy/keys.h"
#include "policy/lists.h"
#include "policy/oddities.h"
#include "policy/protected.h"
#include "policy/rule.h"
#include "policy/verdict.h"

/* ----------------------------------------------------------- rules of paths */

/* The state while two lists are intersected. */
struct cut {
	struct lists_builder found;
	const char *a, *b; /* the two rules whose common paths are wanted */
	bool naming; /* the rules are about writing, so they lift the protection of names in them */
	/* if a and b are rules of fs.grantable: their policies; else NULL */
	const struct policy *granting[2];
	const char *workspace; /* path of the workspace in the form of a rule, or NULL */
};

static bool has_deep(const struct rule_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->list[i], STR("**")))
			return true;
	return false;
}

/*
 * Returns the number of names at the beginning of a rule that are those of the workspace's path, or
 * 0 if the rule does not lie in the workspace.  names_no_more skips these names, even if they are
 * protected.
 */
static size_t names_of_workspace(const char *workspace, const char *rule)
{
	struct rule_names names;

	if (!workspace || !rule_within(rule, workspace))
		return 0;
	rule_split(workspace, &names);
	return names.n;
}

/*
 * Whether the rule 'whole' also names every protected path that 'rule' names.  'rule' must lie
 * within 'whole'.  Without a "**", the names of the two rules correspond one by one.  If either
 * rule has a "**", 'whole' counts as naming no protected path.
 */
static bool names_no_more(const struct cut *cut, const char *rule, const char *whole)
{
	struct rule_names part, all;

	if (!strcmp(rule, whole))
		return true;
	rule_split(rule, &part);
	rule_split(whole, &all);
	bool alike = str_eq(part.root, all.root) && !has_deep(&part) && !has_deep(&all);
	for (size_t n = names_of_workspace(cut->workspace, rule) + 1; n <= part.n; n++) {
		size_t named = protected_in_rule(&part, n);

		for (size_t i = n - named; i < n; i++)
			if (!alike || i >= all.n || !str_eq(part.list[i], all.list[i]))
				return false;
	}
	return true;
}

static bool names_no_denial(const struct policy_list *denials, const char *rule, const char *whole)
{
	for (size_t i = 0; i < denials->n; i++)
		if (rule_within(rule, denials->list[i]) && !rule_within(whole, denials->list[i]))
			return false;
	return true;
}

/*
 * Whether the rule 'whole' lifts every denial that 'rule' lifts.  Both must be rules of
 * fs.grantable, and 'rule' must lie within 'whole'.  A rule lifts a denial only if it lies in that
 * denial.  So the result is true if 'whole' lies in every denial that 'rule' lies in.
 */
static bool lifts_no_more(const struct policy *policy, const char *rule, const char *whole)
{
	return !policy ||
	       (names_no_denial(&policy->fs.deny_read, rule, whole) &&
		       names_no_denial(&policy->fs.deny_write_within_allow, rule, whole));
}

/*
 * Add a rule to the list.  The rule is left out if it lies within a rule of the list.  It is also
 * left out if it names more protected paths, or lifts more denials, than the rules a and b do.
 */
static bool add_cut(void *arg, const char *rule)
{
	struct cut *cut = arg;
	const struct policy_list *list = &cut->found.list;

	if (cut->naming && !(names_no_more(cut, rule, cut->a) && names_no_more(cut, rule, cut->b)))
		return true;
	if (!lifts_no_more(cut->granting[0], rule, cut->a) ||
		!lifts_no_more(cut->granting[1], rule, cut->b))
		return true;
	/*
	 * A wider rule of the list makes this rule needless, unless this rule names further
	 * protected paths or lifts further denials.
	 */
	for (size_t i = 0; i < list->n; i++)
		if (rule_within(rule, list->list[i]) &&
			(!cut->naming || names_no_more(cut, rule, list->list[i])) &&
			lifts_no_more(cut->granting[0], rule, list->list[i]) &&
			lifts_no_more(cut->granting[1], rule, list->list[i]))
			return true;
	lists_add(&cut->found, rule);
	return list->n <= POLICY_RULES_MAX;
}

static struct policy_list cut_paths(const struct policy_list *a, const struct policy_list *b,
	struct cut cut, struct arena *arena)
{
	cut.found.arena = arena;
	for (size_t i = 0; i < a->n; i++)
		for (size_t j = 0; j < b->n && cut.found.list.n <= POLICY_RULES_MAX; j++) {
			cut.a = a->list[i];
			cut.b = b->list[j];
			rule_intersect(cut.a, cut.b, arena, add_cut, &cut);
		}
	return cut.found.list;
}

/* ----------------------------------------------------------- rules of hosts */

/*
 * Find the ports that two rules both allow: a rule of policy p with port a, and a rule of policy q
 * with port b.  Returns false if the two rules have no port in common.
 */
static bool cut_port(const struct policy *p, int a, const struct policy *q, int b, int *out)
{
	if (a > 0) {
		*out = a;
		return verdict_has_port(q, b, (uint16_t)a);
	}
	if (b > 0) {
		*out = b;
		return verdict_has_port(p, a, (uint16_t)b);
	}
	*out = a == DOMAINS_PORT_STAR && b == DOMAINS_PORT_STAR ? DOMAINS_PORT_STAR
								: DOMAINS_PORT_NONE;
	return true;
}

static void cut_domain(const struct policy *parent, const char *a, const struct policy *child,
	const char *b, struct lists_builder *found)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct domains_rule x, y;

	if (domains_read_rule(str_of(a), &x) || domains_read_rule(str_of(b), &y))
		return;
	struct domains_rule both = domains_within(&x, &y) ? x : y;
	if (!domains_within(&both, &x) || !domains_within(&both, &y) ||
		!cut_port(parent, x.port, child, y.port, &both.port))
		return;
	domains_write_rule(&text, &both);
	lists_add_new(found, arena_str(found->arena, (struct str){ text.data, text.len }).ptr);
}

static struct policy_list cut_domains(const struct policy *parent, const struct policy_list *a,
	const struct policy *child, const struct policy_list *b, struct arena *arena)
{
	struct lists_builder found = { .arena = arena };

	for (size_t i = 0; i < a->n; i++)
		for (size_t j = 0; j < b->n && found.list.n <= POLICY_RULES_MAX; j++)
			cut_domain(parent, a->list[i], child, b->list[j], &found);
	return found.list;
}

static void compose_net(const struct policy *parent, const struct policy *child,
	struct arena *arena, struct policy_domains *out)
{
	bool parent_lists = parent->net.mode == POLICY_NET_ALLOWLIST;
	bool child_lists = child->net.mode == POLICY_NET_ALLOWLIST;

	if (parent->net.mode == POLICY_NET_NONE || child->net.mode == POLICY_NET_NONE)
		out->mode = POLICY_NET_NONE;
	else
		out->mode = parent_lists || child_lists ? POLICY_NET_ALLOWLIST : POLICY_NET_HOST;
	out->allowed = out->grantable = (struct policy_list){ 0 };
	if (out->mode != POLICY_NET_ALLOWLIST)
		return;
	if (parent_lists && child_lists) {
		out->allowed = cut_domains(
			parent, &parent->net.allowed, child, &child->net.allowed, arena);
		out->grantable = cut_domains(
			parent, &parent->net.grantable, child, &child->net.grantable, arena);
	} else {
		const struct policy_domains *lists = parent_lists ? &parent->net : &child->net;

		out->allowed = lists->allowed;
		out->grantable = lists->grantable;
	}
	out->allowed = lists_without(&out->allowed, &out->denied, arena);
	out->grantable = lists_without(&out->grantable, &out->denied, arena);
}

/* ------------------------------------------------------------ other members */

static struct policy_list cut_names(
	const struct policy_list *a, const struct policy_list *b, struct arena *arena)
{
	struct lists_builder found = { .arena = arena };

	for (size_t i = 0; i < a->n; i++)
		for (size_t j = 0; j < b->n; j++) {
			struct str x = str_of(a->list[i]), y = str_of(b->list[j]);

			if (str_eq(x, y) || (rule_is_literal(x) && text_glob(y, x)) ||
				str_eq(y, STR("*")))
				lists_add_new(&found, a->list[i]);
			else if ((rule_is_literal(y) && text_glob(x, y)) || str_eq(x, STR("*")))
				lists_add_new(&found, b->list[j]);
		}
	return found.list;
}

/*
 * Whether the policy allows or sets the variable of a text NAME=VALUE.  *is_set becomes true if the
 * policy sets it.
 */
static bool knows_variable(const struct policy_env *env, const char *variable, bool *is_set)
{
	struct str name = { variable, strcspn(variable, "=") };
	bool known = false;

	*is_set = false;
	for (size_t i = 0; i < env->set.n; i++)
		*is_set |= str_starts(
			str_of(env->set.list[i]), (struct str){ variable, name.len + 1 });
	for (size_t i = 0; i < env->allow.n; i++)
		known |= text_glob(str_of(env->allow.list[i]), name);
	return known || *is_set;
}

static struct policy_list compose_variables(
	const struct policy_env *parent, const struct policy_env *child, struct arena *arena)
{
	struct lists_builder found = { .arena = arena };
	bool is_set;

	for (size_t i = 0; i < parent->set.n; i++)
		lists_add(&found, parent->set.list[i]);
	for (size_t i = 0; i < child->set.n; i++)
		if (knows_variable(parent, child->set.list[i], &is_set) && !is_set)
			lists_add(&found, child->set.list[i]);
	return found.list;
}

static int64_t smaller_limit(int64_t a, int64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

static enum policy_trust stricter_trust(enum policy_trust a, enum policy_trust b)
{
	if (a == b)
		return a;
	return a == POLICY_TRUST_REQUIRE || b == POLICY_TRUST_REQUIRE ? POLICY_TRUST_REQUIRE
								      : POLICY_TRUST_AUTO;
}

/* ---------------------------------------------------------------- the whole */

static void compose_list(const struct keys_key *key, const struct policy *parent,
	const struct policy *child, struct arena *arena, struct policy_list *out)
{
	const struct policy_list *a = keys_slot(key, parent), *b = keys_slot(key, child);

	if (key->role == KEYS_DENIES)
		*out = lists_unite(a, b, arena);
	else if (key->kind == KEYS_PATHS)
		*out = cut_paths(a, b, (struct cut){ 0 }, arena);
	else if (key->kind == KEYS_NAMES)
		*out = cut_names(a, b, arena);
}

/* Compose a member whose value does not depend on other members. */
static void compose_key(const struct keys_key *key, const struct policy *parent,
	const struct policy *child, struct arena *arena, struct policy *out)
{
	void *slot = keys_slot(key, out), *a = keys_slot(key, parent), *b = keys_slot(key, child);

	switch (key->kind) {
	case KEYS_FLAG:
		*(bool *)slot = *(bool *)a && *(bool *)b;
		break;
	case KEYS_LIMIT:
		*(int64_t *)slot = smaller_limit(*(int64_t *)a, *(int64_t *)b);
		break;
	case KEYS_DEPTH:
		*(int64_t *)slot = *(int64_t *)a > *(int64_t *)b ? *(int64_t *)a : *(int64_t *)b;
		break;
	case KEYS_CHOICE:
	case KEYS_SET:
		break;
	default:
		compose_list(key, parent, child, arena, slot);
		break;
	}
}

/*
 * Compose the lists of programs.  An empty list allows all programs.  So if the intersection is
 * empty, the result must deny all programs.
 */
static void compose_programs(const struct policy *parent, const struct policy *child,
	struct arena *arena, struct policy_programs *out)
{
	static const char *everything = "/";
	const struct policy_list all = { &everything, 1 };

	if (!parent->exec.allow.n || !child->exec.allow.n)
		out->allow = parent->exec.allow.n ? parent->exec.allow : child->exec.allow;
	out->allow = lists_without(&out->allow, &out->deny, arena);
	if (!out->allow.n && (parent->exec.allow.n || child->exec.allow.n))
		out->deny = lists_unite(&out->deny, &all, arena);
}

/* Whether a rule overlaps a rule of the list for every home and every workspace. */
static bool surely_overlaps(const struct policy_list *list, const char *rule)
{
	struct rule_names a, b;

	rule_split(rule, &a);
	for (size_t i = 0; i < list->n; i++) {
		rule_split(list->list[i], &b);
		if (rule_within(rule, list->list[i]) ||
			(str_eq(a.root, b.root) && rule_overlaps(rule, list->list[i])))
			return true;
	}
	return false;
}

/*
 * List the rules of fs.allow_read_within_deny that may also lift a denial of the other policy.
 * Such a rule certainly lifts a denial of its own policy, or its own policy allows its paths
 * anyway.  Any other rule may turn out to lift no denial when its policy is resolved, and is then
 * dropped.
 */
static struct policy_list sure_holes(
	const struct policy_fs *fs, const struct policy_list *read, struct arena *arena)
{
	struct lists_builder sure = { .arena = arena };

	for (size_t i = 0; i < fs->allow_read_within_deny.n; i++) {
		const char *hole = fs->allow_read_within_deny.list[i];

		if (surely_overlaps(&fs->deny_read, hole) || lists_wider(read, hole))
			lists_add(&sure, hole);
	}
	return sure.list;
}

/* Compose the rules about files.  Files that may be written may be read, too. */
static void compose_fs(const struct policy *parent, const struct policy *child, struct arena *arena,
	struct policy_fs *out)
{
	const struct policy_fs *a = &parent->fs, *b = &child->fs;
	const char *workspace = parent->place.workspace;
	struct policy_list a_read = lists_unite(&a->allow_read, &a->allow_write, arena);
	struct policy_list b_read = lists_unite(&b->allow_read, &b->allow_write, arena);
	struct policy_list a_holes = sure_holes(a, &a_read, arena);
	struct policy_list b_holes = sure_holes(b, &b_read, arena);
	struct cut writing = { .naming = true };

	if (workspace)
		writing.workspace = rule_of_path(str_of(workspace), arena);
	out->allow_read = cut_paths(&a_read, &b_read, (struct cut){ 0 }, arena);
	out->allow_read_within_deny = cut_paths(&a_holes, &b_holes, (struct cut){ 0 }, arena);
	out->allow_write = cut_paths(&a->allow_write, &b->allow_write, writing, arena);
	writing.granting[0] = parent;
	writing.granting[1] = child;
	out->grantable = cut_paths(&a->grantable, &b->grantable, writing, arena);
}

/*
 * Drop rules that policy_read would refuse: allowances that are also denied, and exceptions that
 * lift no denial.
 */
static void drop_contradictions(struct policy_fs *fs, struct arena *arena)
{
	fs->allow_read = lists_without(&fs->allow_read, &fs->deny_read, arena);
	fs->allow_write = lists_without(&fs->allow_write, &fs->deny_write_within_allow, arena);
	fs->allow_read_within_deny =
		lists_overlapping(&fs->allow_read_within_deny, &fs->deny_read, arena);
}

static int check_limits(const struct policy *policy, struct err *err)
{
	char text[KEYS_TEXT_MAX];

	for (const struct keys_key *key = keys_all; key->name; key++) {
		const struct policy_list *list = keys_slot(key, policy);

		if (key->kind <= KEYS_SET && list->n > POLICY_RULES_MAX)
			return err_set(err, ERR_LIMIT, "%s: the composition has more than %d rules",
				keys_text(key, text), POLICY_RULES_MAX);
	}
	return 0;
}

int compose_policies(const struct policy *parent, const struct policy *child, struct arena *arena,
	struct policy *out, struct err *err)
{
	struct policy both = { .place = parent->place };

	for (const struct keys_key *key = keys_all; key->name; key++)
		compose_key(key, parent, child, arena, &both);
	compose_fs(parent, child, arena, &both.fs);
	compose_net(parent, child, arena, &both.net);
	compose_programs(parent, child, arena, &both.exec);
	both.env.set = compose_variables(&parent->env, &child->env, arena);
	both.trust = stricter_trust(parent->trust, child->trust);
	drop_contradictions(&both.fs, arena);
	int r = check_limits(&both, err);
	if (r < 0)
		return r;
	both.warnings = oddities_list(&both, arena);
	*out = both;
	return 0;
}
