/* shell - the command that is the shell of an environment. */
#pragma once
#include "ops/op.h"

struct param_texts shell_argv(void);
