/*
 * verdict - what a policy says about one path, host or program, by which rule, and what would
 * change the answer.
 *
 * The kernel decides while a program runs.  A verdict explains that decision afterwards, to people
 * and in the list of denials; for hosts the proxy acts on it.  The policy is resolved.
 */
#pragma once
#include "policy/policy.h"

#define VERDICT_TEXT_MAX 512

enum verdict_access { VERDICT_READ, VERDICT_WRITE, VERDICT_EXECUTE };

struct verdict {
	bool allowed;
	char rule[VERDICT_TEXT_MAX];   /* such as "fs.deny_read: /home/u/.ssh" */
	char remedy[VERDICT_TEXT_MAX]; /* what would allow it; empty if it is allowed */
};

/* path is absolute, without "." and "..". */
void verdict_path(const struct policy *policy, enum verdict_access access, struct str path,
	struct verdict *out);

/*
 * host is a name or an address as text, without brackets.  Names are compared without regard to
 * case and to a dot at the end; names with NUL, CR, LF or other bytes that no host name has are
 * never allowed.
 */
void verdict_host(const struct policy *policy, struct str host, uint16_t port, struct verdict *out);

struct sockaddr;
/*
 * Whether a connection for an allowed name may go to this address, to which the name resolved.
 * Loopback, link-local, private and metadata addresses need a rule of their own: the address, or
 * "localhost" for loopback.
 */
void verdict_address(const struct policy *policy, const struct sockaddr *address, uint16_t port,
	struct verdict *out);

/* Whether a name, of any port, is allowed: for answers to DNS queries. */
void verdict_name(const struct policy *policy, struct str name, struct verdict *out);

/* The ports that rules of net.allowed_domains name, sorted; 80 and 443 for a rule without one. */
size_t verdict_ports(const struct policy *policy, uint16_t *ports, size_t max);

/*
 * Whether nobody may write this path unless a rule names it: hooks and configuration of git,
 * start-up files of shells, configuration of editors and agents.  Returns the name of the class
 * ("git hooks") or NULL.
 */
const char *verdict_protected(const struct policy *policy, struct str path);
