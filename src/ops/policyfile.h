/* policyfile - the policy that a file holds. */
#pragma once
#include "policy/policy.h"

/* Read a policy; file "-" is standard input.  The name of the file is in messages. */
int policyfile_read(const char *file, struct arena *arena, struct policy *out, struct err *err);
