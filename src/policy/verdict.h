/*
 * verdict - the judgement of a policy about one path, host or program: whether it is allowed, which
 * rule decides, and what would change this.
 *
 * For files, the kernel decides while a program runs.  A verdict explains that decision afterwards,
 * to people and in the list of denials.  For hosts, the proxy acts on the verdict.  The policy must
 * be resolved.
 *
 * For reading, the first of these that covers a path decides: fs.allow_read_within_deny,
 * fs.deny_read, fs.allow_read and fs.allow_write.  For writing, the order is: the protected names,
 * fs.deny_write_within_allow, fs.deny_read (unless fs.allow_read_within_deny lifts it), and
 * fs.allow_write.  For executing, the file must be readable.  Then exec.deny decides, and then
 * exec.allow unless that list is empty.  A path that no rule covers is denied.
 */
#pragma once
#include "policy/policy.h"

#define VERDICT_TEXT_MAX 512

enum verdict_access { VERDICT_READ, VERDICT_WRITE, VERDICT_EXECUTE };

struct verdict {
	bool allowed;
	char rule[VERDICT_TEXT_MAX]; /* such as "fs.deny_read: /home/u/.ssh" */
	/* a change that would allow the access: "add '/x' to fs.allow_write"; empty if allowed */
	char remedy[VERDICT_TEXT_MAX];
};

/* Judge an absolute path without "." and "..". */
void verdict_path(const struct policy *policy, enum verdict_access access, struct str path,
	struct verdict *out);

/*
 * Judge a host, which is a name or an address as text (domains_read_host).  Names are compared
 * without regard to case and to a dot at the end.  A text that is neither a name nor an address is
 * never allowed, except with net.mode "host".  Examples are a name with NUL, CR or LF, and an IPv4
 * address that is not in dotted decimal.
 *
 * A rule of net.denied_domains overrides rules that allow; without a port it denies all ports.  A
 * rule of net.allowed_domains without a port allows 80 and 443, and a rule with ":*" allows all
 * ports of verdict_ports.  "localhost" stands for loopback addresses, too.
 */
void verdict_host(const struct policy *policy, struct str host, uint16_t port, struct verdict *out);

struct sockaddr;
/*
 * Judge whether a connection for an allowed name may go to this address, which the name resolves
 * to.  An address that is not public, such as a loopback, link-local, private or metadata address,
 * needs a rule of its own.  This rule has the address itself, or "localhost" for loopback.
 */
void verdict_address(const struct policy *policy, const struct sockaddr *address, uint16_t port,
	struct verdict *out);

/*
 * Judge a name: it is allowed if it is allowed with at least one port.  This verdict decides the
 * answers to DNS queries.
 */
void verdict_name(const struct policy *policy, struct str name, struct verdict *out);

/*
 * List the ports that rules of net.allowed_domains name, sorted.  A rule without a port, or with
 * ":*", stands for 80 and 443.  Returns the number of ports.  Writes at most 'max' of them.
 */
size_t verdict_ports(const struct policy *policy, uint16_t *ports, size_t max);
/*
 * Whether a rule of net.allowed_domains allows a port.  rule_port is the member 'port' of its
 * struct domains_rule.
 */
bool verdict_has_port(const struct policy *policy, int rule_port, uint16_t port);

/*
 * Find the protection that forbids writing a path.  The path is a protected name
 * (policy/protected.h) or lies below one, and no rule of fs.allow_write names it.  For paths in the
 * workspace, names in the workspace's own path do not count.  Returns the class of the name ("git
 * hooks"), or NULL if the path is not protected.
 */
const char *verdict_protected(const struct policy *policy, struct str path);
