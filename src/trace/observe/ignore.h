/*
 * ignore - marks the paths that a trace does not record.  They are a JSON array in a file of the
 * user's configuration.  The file is made with defaults if it does not exist.
 */
#pragma once
#include "core/err.h"
#include "trace/observe/pathmap.h"

#define IGNORE_SIZE_MAX ((size_t)1 << 20)

/*
 * Mark the paths in the ignore file 'given', and the file itself.  If 'given' is NULL, the file is
 * the user's own, $XDG_CONFIG_HOME/strata/ignore.json.  Returns ERR_INVALID if the file is not an
 * array of strings that are absolute paths after $HOME and $XDG_CONFIG_HOME have been replaced.
 */
int ignore_load(const char *given, struct pathmap *map, struct err *err);
/* Mark only /proc, /dev and /sys, whose files are made by the kernel. */
void ignore_kernel(struct pathmap *map);
