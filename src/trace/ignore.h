/*
 * ignore - which paths are none of a trace's business: a JSON array of paths in
 * the user's configuration, made with defaults where there is none.
 */
#pragma once
#include "core/err.h"
#include "trace/pathmap.h"

#define IGNORE_SIZE_MAX ((size_t)1 << 20)

/*
 * Mark what the file given says, or with NULL the user's own
 * ($XDG_CONFIG_HOME/strata/ignore.json), and that file itself.  ERR_INVALID when it is no
 * array of strings that are absolute once $HOME and $XDG_CONFIG_HOME are put in.
 */
int ignore_load(const char *given, struct pathmap *map, struct err *err);
/* Only what is no file of anybody: /proc, /dev and /sys. */
void ignore_kernel(struct pathmap *map);
