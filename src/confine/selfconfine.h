/*
 * selfconfine - puts the calling process under a policy, for good.
 *
 * The process must have one thread, and must not have read any data of others yet.  Afterwards it
 * has only the variables and limits that the policy allows, and the descriptors that the options
 * list.  Landlock limits the process to the allowed files, but cannot keep it from denied files
 * within an allowed directory.  A call filter forbids the system calls that no worker needs.
 */
#pragma once
#include <stddef.h>

#include "core/buf.h"
#include "core/err.h"
#include "policy/policy.h"

struct selfconfine_options {
	const int *keep; /* descriptors that stay open besides 0, 1 and 2, in any order */
	size_t n_keep;
};

/*
 * Put this process under a resolved policy.  Unless the policy's trust is POLICY_TRUST_FORBID,
 * appends a line to 'lacks' for each layer that cannot be enforced.  If such a layer exists and the
 * trust is POLICY_TRUST_REQUIRE, returns ERR_UNSUPPORTED, with a message that names the layers.
 */
int selfconfine_enter(const struct policy *policy, const struct selfconfine_options *options,
	struct buf *lacks, struct err *err);
