/*
 * variables - the environment of a command that runs inside.
 *
 * Some variables say where the user is and where programs are found: PATH, HOME, TMPDIR and the
 * like.  Those are always of the inside.  Others are taken from strata's own environment: without a
 * policy those that say how to talk to this terminal, under a policy those that it allows.
 */
#pragma once
#include "ops/requests.h"
#include "policy/policy.h"

/*
 * Make the variables of a command.  Those of --env win over those taken from here, and both win
 * over the defaults.  policy NULL: there is none.  ERR_USAGE; ERR_DENIED if --env is to take one
 * that the policy does not allow.
 */
int variables_make(const struct exec_place *place, const struct policy *policy, struct arena *arena,
	const char *const **out, struct err *err);

/* The variables in add, and those in env that add does not set. */
const char *const *variables_merge(
	const char *const *env, const struct param_texts *add, struct arena *arena);
