/* policyfile - reads a policy from a file. */
#pragma once
#include "policy/policy.h"

/* Read a policy from a file, or from standard input if file is "-".  Errors name the file. */
int policyfile_read(const char *file, struct arena *arena, struct policy *out, struct err *err);
