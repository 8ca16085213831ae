/* sentences - describes a policy in plain words. */
#pragma once
#include "policy/policy.h"

/* Returns sentences about what the program may do and may not do.  The policy is resolved. */
struct policy_list sentences_list(const struct policy *policy, struct arena *arena);
