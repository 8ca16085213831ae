/*
 * variables - the environment variables of a command that runs in the sandbox.
 *
 * Variables such as PATH, HOME and TMPDIR contain the places of programs and of the user's files.
 * They always have the values of the sandbox.  Other variables are taken from strata's own
 * environment: without a policy, the variables that describe the terminal and the locale, and under
 * a policy, the variables that the policy allows.
 */
#pragma once
#include "ops/requests.h"
#include "policy/policy.h"

/*
 * Make the variables of a command.  A variable of --env replaces a variable of strata's own
 * environment.  Variables of both kinds replace default values.  policy may be NULL.  Fails with
 * ERR_USAGE if --env is malformed, and with ERR_DENIED if --env names a variable that the policy
 * does not allow.
 */
int variables_make(const struct exec_place *place, const struct policy *policy, struct arena *arena,
	const char *const **out, struct err *err);

/* Returns the variables of the list 'add', and those of the list 'env' that 'add' does not set. */
const char *const *variables_merge(
	const char *const *env, const struct param_texts *add, struct arena *arena);
