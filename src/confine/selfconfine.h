/*
 * selfconfine - puts the calling process under a policy, for good.
 *
 * The process has one thread, and has read nothing yet that anybody else wrote.  Afterwards it has
 * the variables, descriptors and limits that the policy leaves it.  Landlock keeps it within the
 * files that are allowed, but for what is denied within them, and a call filter keeps it from what
 * no worker needs.
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
 * The policy is resolved.  Appends a line to lacks for each layer that is not enforced, unless the
 * policy's trust is POLICY_TRUST_FORBID.  If a layer is missing and the trust is
 * POLICY_TRUST_REQUIRE, returns ERR_UNSUPPORTED, which names the layers.
 */
int selfconfine_enter(const struct policy *policy, const struct selfconfine_options *options,
	struct buf *lacks, struct err *err);
