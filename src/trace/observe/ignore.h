/*
 * ignore - marks the paths that a trace does not record.  The list of paths is a JSON array in a
 * file of the user's configuration.  If that file does not exist, it is made with default paths.
 */
#pragma once
#include "core/err.h"
#include "trace/observe/pathmap.h"

#define IGNORE_SIZE_MAX ((size_t)1 << 20)

/*
 * Mark the paths that the ignore file 'given' lists, and mark the ignore file itself.  If 'given'
 * is NULL, the user's $XDG_CONFIG_HOME/strata/ignore.json is read.  A path may begin with $HOME or
 * $XDG_CONFIG_HOME, and is otherwise absolute.  Returns ERR_INVALID if the file is not an array of
 * such paths.
 */
int ignore_load(const char *given, struct pathmap *map, struct err *err);
/* Mark only /proc, /dev and /sys, which the kernel fills. */
void ignore_kernel(struct pathmap *map);
