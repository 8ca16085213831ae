/*
 * grants - what a command was granted while it runs, on top of its policy.
 *
 * The policy bounds what can be granted, by fs.grantable and net.grantable.  A denial of the policy
 * is lifted only if a rule of fs.grantable lies in it, and a protected name has to be named there.
 * So nothing that the author of the policy denied is opened by a rule about something wider.
 *
 * A granted path is shown by a mount, which reaches programs that run already; a granted host is a
 * further rule of the proxy.  Each change is written to the denials.
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantwire.h"
#include "confine/planning.h"
#include "confine/proxy.h"

/* What is changed by grants.  Borrowed for as long as there are grants. */
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
 * Grant or revoke.  ERR_DENIED names the rule that is against it, and what to change.  Fills in
 * changed and rule of the answer; the rule is in arena.
 */
int grants_change(struct grants *grants, const struct grantwire_request *request,
	struct arena *arena, struct grantwire_answer *out, struct err *err);
/* Whether an access that the policy denies is allowed by a grant.  grants may be NULL. */
bool grants_allow(const struct grants *grants, enum verdict_access access, struct str path);
/* Whether it could be granted, as far as the policy says. */
bool grants_may_allow(const struct grants *grants, enum verdict_access access, struct str path);
