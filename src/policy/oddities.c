#include "policy/oddities.h"

#include "policy/domains.h"
#include "policy/lists.h"
#include "policy/rule.h"

struct oddities {
	const struct policy *policy;
	struct lists_builder found;
};

#define TELL(ODDITIES, ...)                                                                        \
	lists_add(&(ODDITIES)->found, arena_printf((ODDITIES)->found.arena, __VA_ARGS__))

static void look_at_reading(struct oddities *oddities)
{
	const struct policy_fs *fs = &oddities->policy->fs;

	for (size_t i = 0; i < fs->deny_read.n; i++) {
		const char *denial = fs->deny_read.list[i];
		const char *hole = lists_wider(&fs->allow_read_within_deny, denial);

		if (hole)
			TELL(oddities,
				"fs.deny_read: '%s' has no effect: "
				"fs.allow_read_within_deny has '%s'",
				denial, hole);
	}
	for (size_t i = 0; i < fs->allow_read_within_deny.n; i++)
		if (!lists_overlap(&fs->deny_read, fs->allow_read_within_deny.list[i]))
			TELL(oddities,
				"fs.allow_read_within_deny: '%s' has no effect: "
				"fs.deny_read does not reach it",
				fs->allow_read_within_deny.list[i]);
	if (!fs->allow_read.n && !fs->allow_write.n && !fs->allow_read_within_deny.n)
		TELL(oddities, "fs.allow_read: nothing can be read, so no program can be started");
}

static void look_at_writing(struct oddities *oddities)
{
	const struct policy_fs *fs = &oddities->policy->fs;

	for (size_t i = 0; i < fs->allow_write.n; i++) {
		const char *rule = fs->allow_write.list[i];
		const char *denial = lists_wider(&fs->deny_write_within_allow, rule);

		if (denial)
			TELL(oddities,
				"fs.allow_write: '%s' has no effect: "
				"fs.deny_write_within_allow has '%s'",
				rule, denial);
		denial = lists_wider(&fs->deny_read, rule);
		if (denial && !lists_overlap(&fs->allow_read_within_deny, rule))
			TELL(oddities, "fs.allow_write: '%s' has no effect: fs.deny_read has '%s'",
				rule, denial);
	}
	for (size_t i = 0; i < fs->deny_write_within_allow.n; i++)
		if (!lists_overlap(&fs->allow_write, fs->deny_write_within_allow.list[i]))
			TELL(oddities,
				"fs.deny_write_within_allow: '%s' has no effect: "
				"fs.allow_write does not reach it",
				fs->deny_write_within_allow.list[i]);
}

static void look_at_programs(struct oddities *oddities)
{
	const struct policy_programs *exec = &oddities->policy->exec;

	for (size_t i = 0; i < exec->allow.n; i++) {
		const char *denial = lists_wider(&exec->deny, exec->allow.list[i]);

		if (denial)
			TELL(oddities, "exec.allow: '%s' has no effect: exec.deny has '%s'",
				exec->allow.list[i], denial);
	}
	for (size_t i = 0; exec->allow.n && i < exec->deny.n; i++)
		if (!lists_overlap(&exec->allow, exec->deny.list[i]))
			TELL(oddities, "exec.deny: '%s' has no effect: exec.allow does not have it",
				exec->deny.list[i]);
}

/*
 * Find a rule of denied_domains that denies everything that 'rule' allows.  Returns NULL if there
 * is no such rule.
 */
static const char *find_denial(const struct policy_list *denied, const struct domains_rule *rule)
{
	struct domains_rule denial;

	for (size_t i = 0; i < denied->n; i++)
		if (!domains_read_rule(str_of(denied->list[i]), &denial) && denial.port <= 0 &&
			domains_within(rule, &denial))
			return denied->list[i];
	return NULL;
}

static void look_at_domain(struct oddities *oddities, const char *text, size_t *usable)
{
	struct domains_rule rule;

	if (domains_read_rule(str_of(text), &rule))
		return;
	const char *denial = find_denial(&oddities->policy->net.denied, &rule);
	*usable += !denial;
	if (denial)
		TELL(oddities,
			"net.allowed_domains: '%s' has no effect: net.denied_domains has '%s'",
			text, denial);
	else if (rule.kind == DOMAINS_BELOW && !strchr(rule.host.name, '.'))
		TELL(oddities, "net.allowed_domains: '%s' allows a whole top-level domain", text);
	else if (rule.kind == DOMAINS_EXACT && rule.host.is_address &&
		 domains_classify(rule.host.address) != DOMAINS_PUBLIC)
		TELL(oddities, "net.allowed_domains: '%s' is %s", text,
			domains_class_name(domains_classify(rule.host.address)));
}

static void look_at_network(struct oddities *oddities)
{
	const struct policy_domains *net = &oddities->policy->net;
	size_t usable = 0;

	if (net->unix_sockets.n)
		TELL(oddities, "net.unix_sockets: not enforced: a program can connect to every "
			       "UNIX socket whose file it can see");
	for (size_t i = 0; i < net->allowed.n; i++)
		look_at_domain(oddities, net->allowed.list[i], &usable);
	if (net->mode == POLICY_NET_ALLOWLIST && !usable)
		TELL(oddities, "net.mode: 'allowlist' without a domain that is allowed: "
			       "no host can be reached");
	if (net->mode == POLICY_NET_NONE && net->denied.n)
		TELL(oddities, "net.denied_domains: no effect: net.mode is 'none'");
}

struct policy_list oddities_list(const struct policy *policy, struct arena *arena)
{
	struct oddities oddities = { .policy = policy, .found = { .arena = arena } };

	look_at_reading(&oddities);
	look_at_writing(&oddities);
	look_at_programs(&oddities);
	look_at_network(&oddities);
	if (policy->trust == POLICY_TRUST_FORBID)
		TELL(&oddities, "trust: 'forbid': no rule of this policy is enforced");
	return oddities.found.list;
}
