/* policyfile - read a policy from a file. */
#pragma once
#include "policy/policy.h"

/* Read a policy; file "-" is standard input.  Messages and errors name the file. */
int policyfile_read(const char *file, struct arena *arena, struct policy *out, struct err *err);
