/*
 * trace - runs a command and records it in a bundle (strata-trace(1)): the state of every file that
 * the command used, before and after the command.
 *
 * trace.c runs and traces a command once.  replay*.c runs the command of a bundle again.  They use
 * the following folders, each of which has a header that describes it:
 *
 *	trace/engine    engine.h    starts the command and catches its system calls
 *	trace/observe   observer.h  turns system calls into records
 *	trace/bundle    bundle.h    writes and reads bundles
 *	trace/undo      restore.h   restores files from a bundle
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "core/err.h"
#include "parquet/pqwrite.h"

#define TRACE_FAILED 125 /* exit status if strata failed before it could run the command */

struct trace_request {
	/* the directory for the bundle, which must not exist or must be empty */
	const char *output;
	const char *engine; /* "auto" (or NULL), "bpf", "notify" or "ptrace" */
	/* file that lists the paths to ignore; NULL: the user's own ignore file */
	const char *ignore;
	enum pqwrite_codec codec;
	bool has_read_limit; /* read_limit is set; otherwise the limit is RECORDER_READ_LIMIT */
	uint64_t read_limit; /* a larger file that is only read gets only a digest */
	char *const *argv;   /* ends with NULL */
};

/*
 * The parameters of a trace inside an environment.  Such a trace writes only a manifest, because
 * the environment's history has the contents.
 */
struct trace_inside {
	int manifest_fd; /* descriptor of an empty file, open for writing */
	char *const *argv;
	/* Called just before the command is started. */
	void (*started)(void *arg);
	void *arg;
};

struct trace_result {
	int exit_status; /* exit status of the command, as shells report it */
	bool complete;
	const char *first_reason; /* why the bundle is incomplete; NULL: the bundle is complete */
	const char *instead;      /* path of the bundle if the path 'output' was taken, else NULL */
	struct err unsaved;       /* why the bundle was not written; code 0: it was written */
	struct arena arena;       /* memory of the texts above */
};

/*
 * Run and trace a command.  Returns a negative error if the command did not run.  In that case
 * exit_status is the status with which strata should exit.  Errors after the run are in *result.
 */
int trace_run(const struct trace_request *request, struct trace_result *result, struct err *err);
/*
 * Run and trace a command inside an environment.  The caller is the process that would execute the
 * command if there were no trace.  The command is in the process group of strata, so the command
 * gets signals directly.
 */
int trace_run_inside(
	const struct trace_inside *inside, struct trace_result *result, struct err *err);
void trace_result_release(struct trace_result *result);
