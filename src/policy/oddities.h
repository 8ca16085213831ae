/*
 * oddities - finds what is strange about a valid policy: rules without effect, denials that are
 * lifted, allowances that are wider than they look.  For people, as warnings.
 */
#pragma once
#include "policy/policy.h"

struct policy_list oddities_list(const struct policy *policy, struct arena *arena);
