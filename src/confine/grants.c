#include "confine/grants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confine/treerules.h"
#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "policy/domains.h"
#include "policy/lists.h"
#include "policy/rule.h"

#define GRANTS_MAX 256 /* a limit, because each grant needs some mounts */
#define AGAIN "and start the command again"

struct grant {
	char *path; /* NULL for the grant of a host */
	char *host;
	bool write;
	char *rule; /* the rule of the policy that allows the grant, with the rule's key */
};

struct grants {
	struct grants_scope scope;
	struct grant *list;
	size_t n, capacity;
};

struct grants *grants_new(const struct grants_scope *scope)
{
	struct grants *grants = mem_zalloc(sizeof(*grants));

	grants->scope = *scope;
	return grants;
}

static void drop_grant(struct grants *grants, size_t i)
{
	struct grant *grant = &grants->list[i];

	free(grant->path);
	free(grant->host);
	free(grant->rule);
	*grant = grants->list[--grants->n];
}

void grants_free(struct grants *grants)
{
	if (!grants)
		return;
	while (grants->n)
		drop_grant(grants, grants->n - 1);
	free(grants->list);
	free(grants);
}

static struct grant *add_grant(struct grants *grants, const char *rule)
{
	mem_grow(&grants->list, &grants->capacity, grants->n);
	struct grant *grant = &grants->list[grants->n++];
	*grant = (struct grant){ .rule = mem_strdup(rule) };
	return grant;
}

static int check_room(const struct grants *grants, struct err *err)
{
	return grants->n < GRANTS_MAX
		       ? 0
		       : err_set(err, ERR_LIMIT, "%d grants hold already", GRANTS_MAX);
}

/* --------------------------------------------------------------- granted paths */

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static size_t find_grant(const struct grants *grants, const char *path, const char *host)
{
	size_t i = 0;

	while (i < grants->n &&
		(!is_same(grants->list[i].path, path) || !is_same(grants->list[i].host, host)))
		i++;
	return i;
}

/*
 * Whether the mounts deny a path because of a denied place that lies below the directory 'dir' and
 * contains the path.
 */
static bool is_denied_below(const struct planning *planning, enum verdict_access access,
	struct str dir, struct str path)
{
	const struct policy_list *const lists[] = { &planning->read_denied,
		access == VERDICT_WRITE ? &planning->write_denied : NULL };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; lists[k] && i < lists[k]->n; i++) {
			struct str denied = str_of(lists[k]->list[i]);

			if (denied.len > dir.len && str_within(denied, dir) &&
				str_within(path, denied))
				return true;
		}
	for (size_t i = 0; access == VERDICT_WRITE && i < planning->names.n; i++) {
		struct str name = str_of(planning->names.list[i].path);

		if (planning->names.list[i].state != TREERULES_HOLDER && name.len > dir.len &&
			str_within(name, dir) && str_within(path, name))
			return true;
	}
	return false;
}

bool grants_allow(const struct grants *grants, enum verdict_access access, struct str path)
{
	for (size_t i = 0; grants && i < grants->n; i++) {
		const struct grant *grant = &grants->list[i];

		if (grant->path && str_within(path, str_of(grant->path)) &&
			(grant->write || access != VERDICT_WRITE) &&
			!is_denied_below(grants->scope.planning, access, str_of(grant->path), path))
			return true;
	}
	return false;
}

/* ----------------------------------------------------- paths that may be granted */

/*
 * Returns a denial that covers the path but not the whole rule, or NULL.  A rule that lies within a
 * denial may lift this denial.
 */
static const char *find_denial(const struct policy_list *denials, const char *rule, struct str path)
{
	for (size_t i = 0; i < denials->n; i++)
		if (rule_covers(denials->list[i], path) && !rule_within(rule, denials->list[i]))
			return denials->list[i];
	return NULL;
}

/*
 * Returns the class of a protected name in the path, if neither the policy nor this rule of
 * fs.grantable names it.  Returns NULL if there is no such name.
 */
static const char *find_protection(const struct policy *policy, const char *rule, struct str path)
{
	owned(arena_release) struct arena arena = { 0 };
	const struct policy_list named = { &rule, 1 };
	struct policy with = *policy;

	with.fs.allow_write = lists_unite(&policy->fs.allow_write, &named, &arena);
	return verdict_protected(&with, path);
}

/*
 * Check whether this rule may grant a path.  out->rule becomes the rule that forbids the grant, or
 * "" if no rule does.
 */
static void judge_rule(const struct policy *policy, enum verdict_access access, const char *rule,
	struct str path, struct verdict *out)
{
	const struct policy_fs *fs = &policy->fs;
	const char *denial = lists_covering(&fs->allow_read_within_deny, path)
				     ? NULL
				     : find_denial(&fs->deny_read, rule, path);
	const char *key = "fs.deny_read";

	out->rule[0] = '\0';
	if (!denial && access == VERDICT_WRITE) {
		key = "fs.deny_write_within_allow";
		denial = find_denial(&fs->deny_write_within_allow, rule, path);
	}
	if (!denial && access == VERDICT_WRITE) {
		key = "always protected";
		denial = find_protection(policy, rule, path);
	}
	if (denial)
		snprintf(out->rule, sizeof(out->rule), "%s: %s", key, denial);
}

/*
 * Returns the rule by which a path may be granted.  If there is no such rule, returns NULL, and
 * sets *out to the remedy and to the rule that forbids the grant.
 */
static const char *find_rule(const struct grants *grants, enum verdict_access access,
	struct str path, struct verdict *out)
{
	const struct policy_list *rules = &grants->scope.policy->fs.grantable;
	int len = path.len < 200 ? (int)path.len : 200;

	snprintf(out->rule, sizeof(out->rule), "fs.grantable: no rule has '%.*s'", len, path.ptr);
	for (size_t i = 0; i < rules->n; i++) {
		if (!rule_covers(rules->list[i], path))
			continue;
		judge_rule(grants->scope.policy, access, rules->list[i], path, out);
		if (!out->rule[0])
			return rules->list[i];
	}
	snprintf(out->remedy, sizeof(out->remedy),
		"name '%.*s' in fs.grantable of the policy, " AGAIN, len, path.ptr);
	return NULL;
}

bool grants_may_allow(const struct grants *grants, enum verdict_access access, struct str path)
{
	struct verdict ignored = { 0 };

	return grants && find_rule(grants, access, path, &ignored);
}

/*
 * Whether the path was grantable when the command started.  A glob covers the files that existed
 * then, and Landlock has rules for these files alone.
 */
static bool was_planned(const struct planning *planning, const char *path)
{
	for (size_t i = 0; i < planning->grantable.n; i++) {
		const char *known = planning->grantable.list[i];

		if (!strcmp(known, "/") || str_within(str_of(path), str_of(known)))
			return true;
	}
	return false;
}

/*
 * Find a path of fs.allow_write that becomes writable when the directory 'path' is shown.  Such a
 * path lies below that directory, and has no effect while it cannot be read.  Returns NULL if there
 * is no such path.
 */
static const char *find_opened(const struct grants *grants, const char *path)
{
	const struct policy_list *write = &grants->scope.planning->write;
	struct verdict verdict;

	for (size_t i = 0; i < write->n; i++) {
		verdict_path(grants->scope.policy, VERDICT_WRITE, str_of(write->list[i]), &verdict);
		if (str_within(str_of(write->list[i]), str_of(path)) && !verdict.allowed)
			return write->list[i];
	}
	return NULL;
}

static int judge_path(const struct grants *grants, const char *path, bool write, const char **rule,
	struct err *err)
{
	struct verdict verdict = { 0 };

	*rule = find_rule(grants, write ? VERDICT_WRITE : VERDICT_READ, str_of(path), &verdict);
	if (!*rule) {
		err_set(err, ERR_DENIED, "the policy has no grant for it: %s", verdict.rule);
		return err_hint(err, "%s", verdict.remedy);
	}
	if (!was_planned(grants->scope.planning, path))
		return err_set(err, ERR_NOT_FOUND,
			"'%.200s', or what grants it, was not there when the command started",
			path);
	const char *opened = write ? NULL : find_opened(grants, path);
	if (opened)
		return err_set(err, ERR_DENIED, "'%.200s' could be written then, by fs.allow_write",
			opened);
	return 0;
}

/* -------------------------------------------------------------- log of grants */

static void note_change(struct grants *grants, const struct grant *grant, bool revoked)
{
	struct denial line = {
		.what = revoked ? "revoke" : "grant",
		.subject = grant->path ? grant->path : grant->host,
		.access = !grant->path   ? NULL
			  : grant->write ? "write"
					 : "read",
	};

	snprintf(line.rule, sizeof(line.rule), "%s%s%s", grant->path ? "mode=" : "",
		grant->path ? line.access : "", grant->path ? " by " : "");
	size_t len = strlen(line.rule);
	snprintf(line.rule + len, sizeof(line.rule) - len, "%s", grant->rule);
	denials_note(grants->scope.denials, &line);
}

/* ------------------------------------------------------------ granting a path */

static void allowed_already(const char *rule, struct arena *arena, struct grantwire_answer *out)
{
	out->changed = false;
	out->rule = arena_strdup(arena, rule);
}

/*
 * Whether a path is allowed already and needs no grant.  If so, the answer names the rule that
 * allows it.
 */
static bool is_allowed(const struct grants *grants, const char *path, bool write,
	struct arena *arena, struct grantwire_answer *out)
{
	enum verdict_access access = write ? VERDICT_WRITE : VERDICT_READ;
	size_t i = find_grant(grants, path, NULL);
	struct verdict verdict;

	if (i < grants->n && (grants->list[i].write || !write)) {
		allowed_already(grants->list[i].rule, arena, out);
		return true;
	}
	verdict_path(grants->scope.policy, access, str_of(path), &verdict);
	if (verdict.allowed)
		allowed_already(verdict.rule, arena, out);
	return verdict.allowed;
}

static int grant_path(struct grants *grants, const char *path, bool write, struct arena *arena,
	struct grantwire_answer *out, struct err *err)
{
	const char *rule;
	struct statx stx;

	if (treerules_is_the_kernels(path))
		return err_set(err, ERR_DENIED, "'%s' has files of the kernel", path);
	if (is_allowed(grants, path, write, arena, out))
		return at_abs_stat_strictly(path, &stx) == 0
			       ? 0
			       : err_set(err, ERR_NOT_FOUND,
					 "'%.200s' is no file, or leads through a symbolic link",
					 path);
	if (judge_path(grants, path, write, &rule, err) < 0 || check_room(grants, err) < 0 ||
		mountplan_show(grants->scope.mounts, path, write, err) < 0)
		return -(int)err->code;
	size_t i = find_grant(grants, path, NULL);
	if (i < grants->n)
		drop_grant(grants, i);
	out->changed = true;
	out->rule = arena_printf(arena, "fs.grantable: %s", rule);
	struct grant *grant = add_grant(grants, out->rule);
	grant->path = mem_strdup(path);
	grant->write = write;
	note_change(grants, grant, false);
	return 0;
}

static int revoke_path(struct grants *grants, const char *path, struct err *err)
{
	return mountplan_unhide(grants->scope.mounts, path, err);
}

/* ------------------------------------------------------------ granting a host */

/* Whether the port of one rule (wide) includes all ports of another rule (narrow). */
static bool has_ports(int wide, int narrow)
{
	if (wide == DOMAINS_PORT_STAR || wide == narrow)
		return true;
	return wide == DOMAINS_PORT_NONE && (narrow == 80 || narrow == 443);
}

/*
 * Returns the first rule of a list that allows every host and port that the given rule allows, or
 * NULL.
 */
static const char *find_wider(const struct policy_list *list, const struct domains_rule *rule)
{
	struct domains_rule wide;

	for (size_t i = 0; i < list->n; i++)
		if (!domains_read_rule(str_of(list->list[i]), &wide) &&
			domains_within(rule, &wide) && has_ports(wide.port, rule->port))
			return list->list[i];
	return NULL;
}

static const char *find_host_denial(
	const struct policy_list *denied, const struct domains_rule *rule)
{
	struct domains_rule denial;

	for (size_t i = 0; i < denied->n; i++)
		if (!domains_read_rule(str_of(denied->list[i]), &denial) &&
			domains_within(rule, &denial) &&
			(denial.port <= 0 || denial.port == rule->port))
			return denied->list[i];
	return NULL;
}

static int judge_host(const struct grants *grants, const char *host,
	const struct domains_rule *rule, const char **by, struct err *err)
{
	const struct policy_domains *net = &grants->scope.policy->net;
	const char *denial = find_host_denial(&net->denied, rule);

	*by = NULL;
	if (denial)
		return err_set(err, ERR_DENIED,
			"the policy has no grant for it: "
			"net.denied_domains: %s",
			denial);
	*by = find_wider(&net->grantable, rule);
	if (*by)
		return 0;
	err_set(err, ERR_DENIED,
		"the policy has no grant for it: net.grantable: no rule has '%.200s'", host);
	return err_hint(err, "name '%.150s' in net.grantable of the policy, " AGAIN, host);
}

static int check_mode(const struct grants *grants, struct err *err)
{
	if (grants->scope.proxy)
		return 0;
	err_set(err, ERR_DENIED, "hosts are granted only with net.mode 'allowlist', and it is '%s'",
		grants->scope.policy->net.mode == POLICY_NET_HOST ? "host" : "none");
	return err_hint(err, "set net.mode to 'allowlist' and name the host in net.grantable");
}

/*
 * Grant a host.  The text 'host' must be that of domains_write_rule, so that equal rules have equal
 * texts.
 */
static int grant_host(struct grants *grants, const char *host, const struct domains_rule *rule,
	struct arena *arena, struct grantwire_answer *out, struct err *err)
{
	const struct policy_domains *net = &grants->scope.policy->net;
	size_t i = find_grant(grants, NULL, host);
	const char *by = find_wider(&net->allowed, rule);

	if (i < grants->n || (by && !find_host_denial(&net->denied, rule))) {
		allowed_already(i < grants->n ? grants->list[i].rule
					      : arena_printf(arena, "net.allowed_domains: %s", by),
			arena, out);
		return 0;
	}
	if (judge_host(grants, host, rule, &by, err) < 0 || check_room(grants, err) < 0 ||
		proxy_allow(grants->scope.proxy, host, err) < 0)
		return -(int)err->code;
	out->changed = true;
	out->rule = arena_printf(arena, "net.grantable: %s", by);
	struct grant *grant = add_grant(grants, out->rule);
	grant->host = mem_strdup(host);
	note_change(grants, grant, false);
	return 0;
}

/* ------------------------------------------------------------------ requests */

static int take_back(struct grants *grants, const char *path, const char *host, struct arena *arena,
	struct grantwire_answer *out, struct err *err)
{
	size_t i = find_grant(grants, path, host);

	if (i == grants->n)
		return err_set(err, ERR_NOT_FOUND, "'%.200s' is not granted", path ? path : host);
	int r = path ? revoke_path(grants, path, err)
		     : proxy_revoke(grants->scope.proxy, host, err);
	if (r < 0)
		return r;
	out->changed = true;
	out->rule = arena_strdup(arena, grants->list[i].rule);
	note_change(grants, &grants->list[i], true);
	drop_grant(grants, i);
	return 0;
}

static int change_host(struct grants *grants, const struct grantwire_request *request,
	struct arena *arena, struct grantwire_answer *out, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct domains_rule rule;
	const char *wrong = domains_read_rule(str_of(request->host), &rule);

	if (wrong)
		return err_set(err, ERR_INVALID, "'%.200s' %s", request->host, wrong);
	if (check_mode(grants, err) < 0)
		return -(int)err->code;
	domains_write_rule(&text, &rule);
	return request->revoke ? take_back(grants, NULL, text.data, arena, out, err)
			       : grant_host(grants, text.data, &rule, arena, out, err);
}

int grants_change(struct grants *grants, const struct grantwire_request *request,
	struct arena *arena, struct grantwire_answer *out, struct err *err)
{
	bool write = request->mode && !strcmp(request->mode, "write");

	if (request->host)
		return change_host(grants, request, arena, out, err);
	return request->revoke ? take_back(grants, request->path, NULL, arena, out, err)
			       : grant_path(grants, request->path, write, arena, out, err);
}
