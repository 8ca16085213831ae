/* sentences - describes a policy in plain words. */
#pragma once
#include "policy/policy.h"

/*
 * Returns sentences that describe what the program may and may not do.  The policy must be
 * resolved.
 */
struct policy_list sentences_list(const struct policy *policy, struct arena *arena);
