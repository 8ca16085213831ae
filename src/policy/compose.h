/*
 * compose - makes the policy that allows only actions that two policies both allow.
 *
 * Denials are united, and allowances are intersected.  Where an intersection cannot be written as
 * rules, the result allows less.  So any path, host or program that the result allows is allowed by
 * both policies.
 */
#pragma once
#include "policy/policy.h"

/*
 * Compose two policies.  Either both must be resolved for the same place, or neither of them may be
 * resolved.  Returns ERR_LIMIT when a list would have more than POLICY_RULES_MAX rules.  If both
 * policies set a variable, the value of 'parent' is used.
 */
int compose_policies(const struct policy *parent, const struct policy *child, struct arena *arena,
	struct policy *out, struct err *err);
