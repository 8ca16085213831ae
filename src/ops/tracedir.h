/* tracedir - finds bundles, and paths in bundles, by the names that a user types. */
#pragma once
#include "core/arena.h"
#include "core/param.h"
#include "trace/bundle/bundle.h"

/* The entry of a parameter list for the member 'dir' of a request. */
#define TRACEDIR_PARAM(REQUEST)                                                                    \
	PARAM(REQUEST, dir, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the directory of the bundle")
/* The parameters of a struct bundle_request. */
extern const struct param tracedir_params[];

/* Open the bundle in a directory that the user has typed.  Returns NULL on error. */
struct bundle *tracedir_open(const char *dir, struct err *err);
/*
 * Convert a path that a user has typed to the form of paths in the bundle.  A relative path begins
 * at the directory where the command ran.
 */
struct str tracedir_path(const struct bundle *bundle, const char *text, struct arena *arena);
/* Whether 'path' is 'top' or lies below 'top'. */
bool tracedir_is_below(struct str path, struct str top);
/* Write a state as an object called 'key', with the members that the manifest has. */
#define TRACEDIR_STATE_SHAPE                                                                       \
	"{exists:bool tombstone?:bool type?:text mode?:int mtime?:int mtime_ns?:int size?:int "    \
	"uid?:int gid?:int target?:text sha256?:text blob?:text} "
void tracedir_state_json(struct json *out, const char *key, const struct bundle_state *state);
