/* sentences - a policy in plain words. */
#pragma once
#include "policy/policy.h"

/* What the program may do and may not do, one sentence each; the policy is resolved. */
struct policy_list sentences_list(const struct policy *policy, struct arena *arena);
