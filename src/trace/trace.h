/*
 * trace - runs a command and records the state of every file that it used, before and after, in a
 * bundle (strata-trace(1)).
 *
 * trace.c runs and traces a command once, and replay*.c runs the command of a bundle again.  They
 * use the folders below, each of which has a header that describes it:
 *
 *	trace/engine    engine.h    starts the command and catches its calls
 *	trace/observe   observer.h  turns calls into records
 *	trace/bundle    bundle.h    writes and reads bundles
 *	trace/undo      restore.h   restores files from a bundle
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "core/err.h"
#include "parquet/pqwrite.h"

#define TRACE_FAILED 125 /* exit status if strata failed before the command ran */

struct trace_request {
	const char *output; /* the bundle's directory, which must not exist or be empty */
	const char *engine; /* "auto" (also NULL), "bpf", "notify", "ptrace" */
	const char *ignore; /* file with paths to leave out; NULL: the user's own */
	enum pqwrite_codec codec;
	bool has_read_limit; /* if not set, the limit is RECORDER_READ_LIMIT */
	uint64_t read_limit; /* a larger file that is only read gets a digest, but no content */
	char *const *argv;   /* ends with NULL */
};

/*
 * A run inside an environment.  The environment's history has the contents, so only a manifest is
 * written.
 */
struct trace_inside {
	int manifest_fd; /* empty, and open for writing */
	char *const *argv;
	/* Called when the command is about to be started. */
	void (*started)(void *arg);
	void *arg;
};

struct trace_result {
	int exit_status; /* the command's, as shells give it */
	bool complete;
	const char *first_reason; /* why the bundle is not complete */
	const char *instead;      /* where the bundle is, if the name in output was taken */
	struct err unsaved;       /* why the bundle could not be written; code 0: it was written */
	struct arena arena;       /* of the texts above */
};

/*
 * Returns a negative error if the command did not run; then exit_status is the status to exit with.
 * Later errors are in the result.
 */
int trace_run(const struct trace_request *request, struct trace_result *result, struct err *err);
/*
 * Do the same inside an environment, in the process that would execute the command if it were not
 * traced.  The command gets its signals as a member of the process group.
 */
int trace_run_inside(
	const struct trace_inside *inside, struct trace_result *result, struct err *err);
void trace_result_release(struct trace_result *result);
