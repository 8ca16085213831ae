/*
 * nodetrace - the files that the command of a node read and wrote, as recorded by exec --trace.
 *
 * ROOT/traces/NODE contains a bundle without contents, because the history has the contents.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/json.h"
#include "ops/env.h"
#include "sandbox/sandbox_run.h"

#define NODETRACE_DIR "traces"

/* A trace that is being made. */
struct nodetrace_new {
	int fd; /* descriptor of the manifest; -1: no trace is being made */
	char name[40];
};

#define NODETRACE_NEW_INIT ((struct nodetrace_new){ .fd = -1 })

/* Make the directory and the manifest. */
int nodetrace_begin(struct env *env, struct nodetrace_new *made, struct err *err);
/* A sandbox_wrapper: starts the command in the sandbox, and writes its trace to the manifest. */
int nodetrace_run_wrapped(
	const struct sandbox_command *command, int manifest, int report, struct err *err);
/* If a trace is being made, make nodetrace_run_wrapped run the command. */
void nodetrace_wrap(struct nodetrace_new *made, struct sandbox_command *command);
/*
 * Attach the trace to a node.  Fails with ERR_NOT_FOUND if the command was killed together with its
 * tracer.
 */
int nodetrace_attach(
	struct env *env, struct nodetrace_new *made, const char *node, struct err *err);
/* Remove a trace for which no node was made. */
void nodetrace_drop(struct env *env, struct nodetrace_new *made);

struct nodetrace {
	bool found;
	bool complete;
	struct str *read, *written; /* paths, sorted */
	size_t n_read, n_written;
};

/* Read the trace of a node.  trace->found is false if the node has none. */
int nodetrace_get(struct env *env, const char *node, struct arena *arena, struct nodetrace *trace,
	struct err *err);
/* Add the member "trace", which may be null. */
#define NODETRACE_SHAPE "trace:{complete:bool read:[text] written:[text]}? "
void nodetrace_json(struct json *out, const struct nodetrace *trace);

/*
 * Rename the traces of nodes that do not exist any more.  The caller must have locked the store
 * exclusively.
 */
int nodetrace_sweep(struct env *env, struct err *err);
/*
 * Remove the renamed traces, which may take long.  Also remove the traces that killed processes
 * have left.
 */
int nodetrace_remove(struct env *env, struct err *err);
