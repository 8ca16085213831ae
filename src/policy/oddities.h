/*
 * oddities - finds probable mistakes in a valid policy, and describes them as warnings for people.
 * Such mistakes are rules without effect, denials that are lifted, and allowances that are wider
 * than they look.
 */
#pragma once
#include "policy/policy.h"

struct policy_list oddities_list(const struct policy *policy, struct arena *arena);
