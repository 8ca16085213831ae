/*
 * grants - files and hosts that a command may use while it runs, in addition to its policy.
 *
 * The rules fs.grantable and net.grantable of the policy list what can be granted.  A grant lifts a
 * denial of the policy only if the rule of fs.grantable lies within the denied place.  It lifts the
 * protection of a protected name only if the rule names that name.  So a rule about a larger place
 * never opens a place in it that the author of the policy has denied.
 *
 * A granted path is shown by a mount, which also reaches programs that run already.  A granted host
 * becomes a further rule of the proxy.  Each change is written to the denials.
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantwire.h"
#include "confine/planning.h"
#include "confine/proxy.h"

/*
 * The objects that grants read and change.  They are borrowed for as long as the struct grants
 * lives.
 */
struct grants_scope {
	const struct policy *policy; /* with absolute paths (policy_resolve) */
	const struct planning *planning;
	struct mountplan_made *mounts;
	struct proxy *proxy; /* NULL if the policy does not restrict hosts by a list */
	struct denials *denials;
};

struct grants;

struct grants *grants_new(const struct grants_scope *scope);
void grants_free(struct grants *grants);

/*
 * Grant or revoke a path or a host.  The message of ERR_DENIED names the rule that forbids the
 * grant, and the remedy.  Fills in the members 'changed' and 'rule' of the answer.  The arena owns
 * the rule.
 */
int grants_change(struct grants *grants, const struct grantwire_request *request,
	struct arena *arena, struct grantwire_answer *out, struct err *err);
/* Whether a grant allows an access that the policy denies.  'grants' may be NULL. */
bool grants_allow(const struct grants *grants, enum verdict_access access, struct str path);
/* Whether the policy allows a grant of this access. */
bool grants_may_allow(const struct grants *grants, enum verdict_access access, struct str path);
