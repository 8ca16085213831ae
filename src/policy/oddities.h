/*
 * oddities - what is strange about a policy that can be used: rules without effect, denials that
 * are lifted, allowances wider than they look.  For people, as warnings.
 */
#pragma once
#include "policy/policy.h"

struct policy_list oddities_list(const struct policy *policy, struct arena *arena);
