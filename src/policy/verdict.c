#include "policy/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/own.h"
#include "policy/domains.h"
#include "policy/lists.h"
#include "policy/protected.h"
#include "policy/rule.h"

#define ADD_HINT_MAX 300 /* maximum number of bytes of a path or host in a remedy */

static void allow(struct verdict *out, const char *key, const char *rule)
{
	*out = (struct verdict){ .allowed = true };
	snprintf(out->rule, sizeof(out->rule), "%s%s%s", key, rule ? ": " : "", rule ?: "");
}

static void deny(struct verdict *out, const char *key, const char *rule)
{
	allow(out, key, rule);
	out->allowed = false;
}

static void set_remedy(struct verdict *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void set_remedy(struct verdict *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->remedy, sizeof(out->remedy), fmt, ap);
	va_end(ap);
}

/* Set the remedy "add 'WHAT' to KEY". */
static void propose_adding(struct verdict *out, struct str what, const char *key)
{
	set_remedy(out, "add '%.*s' to %s",
		(int)(what.len < ADD_HINT_MAX ? what.len : ADD_HINT_MAX), what.ptr, key);
}

/*
 * Write a path as a rule that stands for this path alone.  A path may contain characters that would
 * be globs.  Returns false if 'out' has no room for the rule.
 */
static bool quote_path(struct str path, char out[ADD_HINT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < path.len && n + 2 < ADD_HINT_MAX; i++) {
		if (strchr("*?[]{},\\", path.ptr[i]) && path.ptr[i])
			out[n++] = '\\';
		out[n++] = path.ptr[i];
		if (i + 1 == path.len) {
			out[n] = '\0';
			return true;
		}
	}
	return false;
}

/* Set the remedy for a path: "add 'PATH' to KEY". */
static void propose_path(struct verdict *out, struct str path, const char *key)
{
	char rule[ADD_HINT_MAX];

	if (quote_path(path, rule))
		propose_adding(out, str_of(rule), key);
	else
		set_remedy(out, "add a rule for the path to %s", key);
}

/* ---------------------------------------------------------- protected names */

/*
 * Whether 'path' lies in the workspace, and 'part' is the workspace or a directory above it.  If
 * so, the last name of 'part' does not count as protected.
 */
static bool leads_to_workspace(const struct policy *policy, struct str path, struct str part)
{
	const char *workspace = policy->place.workspace;

	return workspace && str_within(str_of(workspace), part) &&
	       str_within(path, str_of(workspace));
}

static bool is_named(
	const struct policy *policy, struct str path, const struct protected_match *match)
{
	const struct policy_list *list = &policy->fs.allow_write;
	const char *beside = match->name->place == PROTECTED_GIT ? ".git" : NULL;

	for (size_t i = 0; i < list->n; i++)
		if (rule_names(list->list[i], path, match->part, str_of(match->name->name), beside))
			return true;
	return false;
}

/* Find the first protected name in 'path' that the policy does not name. */
static bool find_protected(
	const struct policy *policy, struct str path, struct protected_match *match)
{
	struct protected_walk walk;

	protected_begin(&walk, policy->place.home, path);
	while (protected_next(&walk, match))
		if (!(match->name->by_git_config && policy->fs.allow_git_config) &&
			!leads_to_workspace(policy, path, match->part) &&
			!is_named(policy, path, match))
			return true;
	return false;
}

const char *verdict_protected(const struct policy *policy, struct str path)
{
	struct protected_match match;

	return find_protected(policy, path, &match) ? match.name->what : NULL;
}

static bool judge_protected(const struct policy *policy, struct str path, struct verdict *out)
{
	struct protected_match match;
	char what[ADD_HINT_MAX + 64];

	if (!find_protected(policy, path, &match))
		return false;
	size_t len = match.part.len < ADD_HINT_MAX ? match.part.len : ADD_HINT_MAX;
	snprintf(what, sizeof(what), "%s, '%.*s'", match.name->what, (int)len, match.part.ptr);
	deny(out, "always protected", what);
	set_remedy(out, "name '%.*s' in fs.allow_write%s", (int)len, match.part.ptr,
		match.name->by_git_config ? ", or set fs.allow_git_config" : "");
	return true;
}

/* -------------------------------------------------------------------- paths */

/*
 * Judge a path by fs.deny_read and its exceptions.  If one of them decides, returns true and sets
 * *out.
 */
static bool judge_mask(const struct policy *policy, struct str path, struct verdict *out)
{
	const char *hole = lists_covering(&policy->fs.allow_read_within_deny, path);
	const char *denial = hole ? NULL : lists_covering(&policy->fs.deny_read, path);

	if (hole)
		allow(out, "fs.allow_read_within_deny", hole);
	if (denial) {
		deny(out, "fs.deny_read", denial);
		propose_path(out, path, "fs.allow_read_within_deny");
	}
	return hole || denial;
}

static void judge_read(const struct policy *policy, struct str path, struct verdict *out)
{
	if (judge_mask(policy, path, out))
		return;
	const char *rule = lists_covering(&policy->fs.allow_read, path);
	if (rule) {
		allow(out, "fs.allow_read", rule);
		return;
	}
	rule = lists_covering(&policy->fs.allow_write, path);
	if (rule) {
		allow(out, "fs.allow_write", rule);
		return;
	}
	deny(out, "fs.allow_read", "no rule has the path");
	propose_path(out, path, "fs.allow_read");
}

static void judge_write(const struct policy *policy, struct str path, struct verdict *out)
{
	const struct policy_fs *fs = &policy->fs;

	if (judge_protected(policy, path, out))
		return;
	const char *rule = lists_covering(&fs->deny_write_within_allow, path);
	if (rule) {
		deny(out, "fs.deny_write_within_allow", rule);
		set_remedy(
			out, "take '%.*s' out of fs.deny_write_within_allow", ADD_HINT_MAX, rule);
		return;
	}
	if (judge_mask(policy, path, out) && !out->allowed)
		return;
	rule = lists_covering(&fs->allow_write, path);
	if (rule) {
		allow(out, "fs.allow_write", rule);
		return;
	}
	deny(out, "fs.allow_write", fs->allow_write.n ? "no rule has the path" : "it is empty");
	propose_path(out, path, "fs.allow_write");
}

static void judge_execute(const struct policy *policy, struct str path, struct verdict *out)
{
	const struct policy_programs *exec = &policy->exec;

	judge_read(policy, path, out);
	if (!out->allowed)
		return;
	const char *rule = lists_covering(&exec->deny, path);
	if (rule) {
		deny(out, "exec.deny", rule);
		set_remedy(out, "take '%.*s' out of exec.deny", ADD_HINT_MAX, rule);
		return;
	}
	rule = lists_covering(&exec->allow, path);
	if (rule || !exec->allow.n) {
		allow(out, "exec.allow", rule ?: "it is empty, so every program is allowed");
		return;
	}
	deny(out, "exec.allow", "no rule has the program");
	propose_path(out, path, "exec.allow");
}

void verdict_path(const struct policy *policy, enum verdict_access access, struct str path,
	struct verdict *out)
{
	if (access == VERDICT_READ)
		judge_read(policy, path, out);
	else if (access == VERDICT_WRITE)
		judge_write(policy, path, out);
	else
		judge_execute(policy, path, out);
}

/* -------------------------------------------------------------------- ports */

static bool is_default_port(uint16_t port)
{
	return port == 80 || port == 443;
}

static int compare_ports(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

size_t verdict_ports(const struct policy *policy, uint16_t *ports, size_t max)
{
	const struct policy_list *allowed = &policy->net.allowed;
	uint16_t all[POLICY_RULES_MAX + 2];
	struct domains_rule rule;
	size_t n = 0, kept = 0;
	bool defaults = false;

	for (size_t i = 0; i < allowed->n && i < POLICY_RULES_MAX; i++) {
		if (domains_read_rule(str_of(allowed->list[i]), &rule))
			continue;
		defaults |= rule.port <= 0;
		if (rule.port > 0)
			all[n++] = (uint16_t)rule.port;
	}
	if (defaults) {
		all[n++] = 80;
		all[n++] = 443;
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), compare_ports);
	for (size_t i = 0; i < n; i++)
		if (!i || all[i] != all[i - 1])
			all[kept++] = all[i];
	if (kept)
		memcpy(ports, all, (kept < max ? kept : max) * sizeof(*ports));
	return kept;
}

bool verdict_has_port(const struct policy *policy, int rule_port, uint16_t port)
{
	uint16_t known[POLICY_RULES_MAX + 2];

	if (rule_port > 0)
		return port == rule_port;
	if (rule_port == DOMAINS_PORT_NONE || is_default_port(port))
		return is_default_port(port);
	size_t n = verdict_ports(policy, known, POLICY_RULES_MAX + 2);
	return n && bsearch(&port, known, n, sizeof(*known), compare_ports);
}

/* -------------------------------------------------------------------- hosts */

static const char *find_domain(const struct policy *policy, const struct policy_list *list,
	bool denies, const struct domains_host *host, uint16_t port)
{
	struct domains_rule rule;

	for (size_t i = 0; i < list->n; i++) {
		if (domains_read_rule(str_of(list->list[i]), &rule) ||
			!domains_matches(&rule, host))
			continue;
		if (denies ? rule.port <= 0 || rule.port == port
			   : verdict_has_port(policy, rule.port, port))
			return list->list[i];
	}
	return NULL;
}

/* Judge by net.mode.  If the mode alone decides, returns true and sets *out. */
static bool judge_mode(const struct policy *policy, struct verdict *out)
{
	if (policy->net.mode == POLICY_NET_HOST) {
		allow(out, "net.mode", "host");
		return true;
	}
	if (policy->net.mode == POLICY_NET_ALLOWLIST)
		return false;
	deny(out, "net.mode", "none");
	set_remedy(out, "set net.mode to 'allowlist' and name the host in net.allowed_domains");
	return true;
}

static bool judge_denied(const struct policy *policy, const struct domains_host *host,
	uint16_t port, struct verdict *out)
{
	const char *rule = find_domain(policy, &policy->net.denied, true, host, port);

	if (!rule)
		return false;
	deny(out, "net.denied_domains", rule);
	set_remedy(out, "take '%s' out of net.denied_domains", rule);
	return true;
}

static void host_text(const struct domains_host *host, uint16_t port, char out[320])
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct domains_rule rule = { .host = *host, .port = is_default_port(port) ? 0 : port };

	domains_write_rule(&text, &rule);
	snprintf(out, 320, "%s", text.data);
}

static void judge_listed(const struct policy *policy, const struct domains_host *host,
	uint16_t port, struct verdict *out)
{
	const enum domains_class class =
		host->is_address ? domains_classify(host->address) : DOMAINS_PUBLIC;
	char what[320], why[64];

	if (judge_denied(policy, host, port, out))
		return;
	const char *rule = find_domain(policy, &policy->net.allowed, false, host, port);
	if (rule) {
		allow(out, "net.allowed_domains", rule);
		return;
	}
	snprintf(why, sizeof(why), "no rule has %s",
		host->is_address ? domains_class_name(class) : "the host with this port");
	deny(out, "net.allowed_domains", why);
	if (class == DOMAINS_UNSPECIFIED) { /* no rule can contain such an address */
		set_remedy(out, "connect to another address");
		return;
	}
	host_text(host, port, what);
	propose_adding(out, str_of(what), "net.allowed_domains");
}

void verdict_host(const struct policy *policy, struct str host, uint16_t port, struct verdict *out)
{
	struct domains_host parsed;

	if (judge_mode(policy, out))
		return;
	if (domains_read_host(host, &parsed)) {
		judge_listed(policy, &parsed, port, out);
		return;
	}
	deny(out, "net.mode", "allowlist has only names of hosts and addresses in the usual form");
	set_remedy(out, "use the name of the host");
}

void verdict_address(const struct policy *policy, const struct sockaddr *address, uint16_t port,
	struct verdict *out)
{
	struct domains_host host;

	if (judge_mode(policy, out))
		return;
	if (!domains_of_sockaddr(address, &host)) {
		deny(out, "net.mode", "allowlist has only addresses of the internet");
		set_remedy(out, "use the name of a host");
		return;
	}
	if (domains_classify(host.address) != DOMAINS_PUBLIC) {
		judge_listed(policy, &host, port, out);
		return;
	}
	if (!judge_denied(policy, &host, port, out))
		allow(out, "net.allowed_domains", "by its name");
}

void verdict_name(const struct policy *policy, struct str name, struct verdict *out)
{
	uint16_t ports[POLICY_RULES_MAX + 2];
	size_t n = verdict_ports(policy, ports, POLICY_RULES_MAX + 2);

	struct verdict with_port;

	/*
	 * First set *out to the denial for a name that no rule allows.  Port 0 gives this denial,
	 * since no rule has port 0.
	 */
	verdict_host(policy, name, 0, out);
	for (size_t i = 0; i < n && !out->allowed; i++) {
		verdict_host(policy, name, ports[i], &with_port);
		if (with_port.allowed)
			*out = with_port;
	}
}
