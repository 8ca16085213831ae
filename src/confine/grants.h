/*
 * grants - what a command has been granted while it runs, in addition to its policy.
 *
 * The policy bounds what can be granted, by fs.grantable and net.grantable.  A grant lifts a denial
 * of the policy only if the rule of fs.grantable lies within the denial, and it lifts the
 * protection of a protected name only if the rule names that name.  So a rule about a larger place
 * never opens anything in it that the author of the policy denied.
 *
 * A granted path is shown by a mount, which reaches programs that run already; a granted host is a
 * further rule of the proxy.  Each change is written to the denials.
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantwire.h"
#include "confine/planning.h"
#include "confine/proxy.h"

/* What the grants need and change.  Borrowed for as long as the struct grants lives. */
struct grants_scope {
	const struct policy *policy; /* resolved */
	const struct planning *planning;
	struct mountplan_made *mounts;
	struct proxy *proxy; /* NULL: the policy has no list of hosts */
	struct denials *denials;
};

struct grants;

struct grants *grants_new(const struct grants_scope *scope);
void grants_free(struct grants *grants);

/*
 * Grant or revoke a path or a host.  ERR_DENIED names the rule that forbids the grant, and what to
 * change.  Fills in changed and rule of the answer; the rule is in arena.
 */
int grants_change(struct grants *grants, const struct grantwire_request *request,
	struct arena *arena, struct grantwire_answer *out, struct err *err);
/* Whether an access that the policy denies is allowed by a grant.  grants may be NULL. */
bool grants_allow(const struct grants *grants, enum verdict_access access, struct str path);
/* Whether the policy allows to grant this access. */
bool grants_may_allow(const struct grants *grants, enum verdict_access access, struct str path);
