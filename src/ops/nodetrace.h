/*
 * nodetrace - what the command of a node read and wrote, where exec --trace has
 * seen it: a bundle without contents, which the history has, in traces/NODE of
 * the environment.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/json.h"
#include "ops/env.h"
#include "sandbox/sandbox_run.h"

/* One that is being made. */
#define NODETRACE_DIR "traces"

struct nodetrace_new {
	int fd; /* of the manifest; -1: none is being made */
	char name[40];
};

#define NODETRACE_NEW_INIT                                                                         \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Make room for one. */
int nodetrace_begin(struct env *env, struct nodetrace_new *made, struct err *err);
/* Inside, in place of a wrapped command, which it starts: a sandbox_wrapper. */
int nodetrace_stand_between(
	const struct sandbox_command *command, int manifest, int report, struct err *err);
/* Have the command write it. */
void nodetrace_wrap(struct nodetrace_new *made, struct sandbox_command *command);
/* It belongs to this node; ERR_NOT_FOUND when the command was killed before it was written. */
int nodetrace_attach(
	struct env *env, struct nodetrace_new *made, const char *node, struct err *err);
/* Nobody wants it. */
void nodetrace_drop(struct env *env, struct nodetrace_new *made);

struct nodetrace {
	bool found;
	bool complete;
	struct str *read, *written; /* paths, sorted */
	size_t n_read, n_written;
};

/* What is known of a node; found is false where there is nothing. */
int nodetrace_get(struct env *env, const char *node, struct arena *arena, struct nodetrace *trace,
	struct err *err);
/* As the member "trace", or null. */
#define NODETRACE_SHAPE "trace:{complete:bool read:[text] written:[text]}? "
void nodetrace_json(struct json *out, const struct nodetrace *trace);

/*
 * Those whose node is gone are given up, with the store held alone; and removed, which may
 * take its time, together with what processes that were killed left.
 */
int nodetrace_sweep(struct env *env, struct err *err);
int nodetrace_remove(struct env *env, struct err *err);
