/*
 * compose - makes the policy that allows only what two policies both allow.
 *
 * Denials unite, and allowances intersect.  Where an intersection cannot be written as rules, the
 * result allows less.  So whatever path, host or program it allows, both policies allow.
 */
#pragma once
#include "policy/policy.h"

/*
 * Either both policies are resolved, for the same place, or neither is.  Returns ERR_LIMIT when a
 * list would have more than POLICY_RULES_MAX rules.  The variables that parent sets win over those
 * of child.
 */
int compose_policies(const struct policy *parent, const struct policy *child, struct arena *arena,
	struct policy *out, struct err *err);
