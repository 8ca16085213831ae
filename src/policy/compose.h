/*
 * compose - the policy that allows only what two policies allow.
 *
 * Denials unite, and allowances intersect.  Where an intersection cannot be written as rules, the
 * result has less: a path, host or program that it allows is allowed by both.
 */
#pragma once
#include "policy/policy.h"

/*
 * Both are resolved for the same place, or both are not.  Returns ERR_LIMIT when a list would have
 * more than POLICY_RULES_MAX rules.  The variables that parent sets win over those of child.
 */
int compose_policies(const struct policy *parent, const struct policy *child, struct arena *arena,
	struct policy *out, struct err *err);
