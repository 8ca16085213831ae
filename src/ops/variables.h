/*
 * variables - the environment variables of a command that runs in the sandbox.
 *
 * Some variables say where the user is and where programs are found: PATH, HOME, TMPDIR and the
 * like.  Their values are always those of the sandbox.  Other variables are taken from strata's own
 * environment: without a policy, those that tell how to talk to this terminal; under a policy,
 * those that the policy allows.
 */
#pragma once
#include "ops/requests.h"
#include "policy/policy.h"

/*
 * Make the variables of a command.  Variables of --env win over those of strata's own environment,
 * and both win over the defaults.  policy may be NULL.  Fails with ERR_USAGE if --env is malformed,
 * and with ERR_DENIED if --env names a variable that the policy does not allow.
 */
int variables_make(const struct exec_place *place, const struct policy *policy, struct arena *arena,
	const char *const **out, struct err *err);

/* Returns the variables in add, and those in env that add does not set. */
const char *const *variables_merge(
	const char *const *env, const struct param_texts *add, struct arena *arena);
