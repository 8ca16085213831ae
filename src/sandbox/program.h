/*
 * program - find a program along PATH and become it.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

/* The first of that name along our PATH that is no directory, into out (PATH_MAX bytes). */
bool program_find(const char *name, char *out);

/*
 * Execute argv with env in this process, looking in the directories of env's PATH
 * when argv[0] has no slash.  Returns only on failure: the exit status that
 * stands for it (enum sandbox_failure), the reason in err.
 */
int program_execute(const char *const *argv, const char *const *env, struct err *err);
