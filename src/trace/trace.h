/*
 * trace - run a command and keep before and after of every file it looked at or
 * changed, as a bundle (strata-trace(1)).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/err.h"
#include "parquet/pqwrite.h"

#define TRACE_FAILED 125 /* exit status when the command was not run because of us */

struct trace_request {
	const char *output; /* the bundle's directory: made, or empty */
	const char *engine; /* "auto" (also NULL), "notify", "ptrace" */
	const char *ignore; /* file; NULL: the user's own */
	enum pqwrite_codec codec;
	bool has_read_limit; /* else it is the usual one */
	uint64_t read_limit; /* larger files that are only read have a digest, no content */
	char *const *argv;   /* ends with NULL */
};

/* Inside an environment, whose history has the contents: only a manifest is written. */
struct trace_inside {
	int manifest_fd; /* open for writing, empty */
	char *const *argv;
	/* Called when the command is about to be started. */
	void (*started)(void *arg);
	void *arg;
};

struct trace_result {
	int exit_status; /* the command's, as shells have it */
	bool complete;
	const char *first_reason; /* why not */
	const char *instead;      /* where the bundle is, if not where it was to be */
	struct err unsaved;       /* code set: the bundle could not be written, and why */
	struct arena arena;       /* of the texts above */
};

/*
 * Negative: the command did not run, exit_status is what to exit with.  Whatever goes wrong
 * later is told in the result.
 */
int trace_run(const struct trace_request *request, struct trace_result *result, struct err *err);
/*
 * The same in the process that was to become the command: signals reach the command as
 * members of its process group.
 */
int trace_run_inside(
	const struct trace_inside *inside, struct trace_result *result, struct err *err);
void trace_result_release(struct trace_result *result);
