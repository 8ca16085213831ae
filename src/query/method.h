/*
 * method - the methods of the query protocol, which answer questions about snapshots.
 *
 * Each method is a struct op, and one table has them all (docs/QUERY.md).  An interface, such as
 * 'strata query', calls a method by its name with parameters as JSON.  The members of the result
 * object are written into the struct json of the interface.  Parameters are checked against their
 * description before the method runs, in a fixed order: strings, integers, times, regexes, paths,
 * then the names of datasets and snapshots, then whether a snapshot exists.  Unknown parameters are
 * ignored.
 *
 * Methods only read, and only through the provider of the dataset that a parameter names.  The
 * exceptions are restore_file and restore_dir (OP_WRITES), which copy from a snapshot to a
 * directory of method_context.restore.
 *
 * The time of a call and the size of its reply are limited.  A list that had to end early has
 * "truncated" set.  If the method takes a cursor, the reply also has a "cursor".  The same call
 * with this cursor returns the next rows.  Snapshots do not change, so a cursor is just the number
 * of rows returned so far.
 */
#pragma once
#include "core/operation.h"
#include "query/registry.h"
#include "query/restoreroots.h"

#define METHOD_PROTOCOL "1"
#define METHOD_REPLY_MAX ((size_t)8 << 20)
#define METHOD_SECONDS_MAX 30
#define METHOD_DIFF_SECONDS_MAX 300 /* longest time of diff_snapshots, since ZFS may need long */

struct method_context {
	struct registry *registry;
	const struct restoreroots *restore; /* NULL: nothing may be restored */
	struct arena *arena;                /* lives as long as the call */
	size_t reply_max;                   /* 0: METHOD_REPLY_MAX */
	int64_t time_max;                   /* ns; 0: method_seconds */
	/* Called now and then.  If it returns true, the call ends with an error.  May be NULL. */
	bool (*cancelled)(void *arg);
	void *arg;
	/*
	 * Set by method_call: the position in the reply where the result begins, and the time
	 * limit.
	 */
	struct json_mark start;
	struct timed_limit *limit;
};

/*
 * Every method, sorted by name.  If the function op.answer of a method fails, method_call removes
 * from the reply what that function has written.
 */
extern const struct op *const methods[];
extern const size_t methods_count;
const struct op *method_find(const char *name); /* NULL: no such method */
int method_seconds(const char *name);           /* returns the longest time of a call */

/*
 * Check 'params' and run the method.  Without parameters, 'params' is NULL.  The members of the
 * result are written into the object that is open in *out.  *out must not have a sink.  After an
 * error, *out is unchanged, and registry_failure describes the program that has failed, if any.
 * Returns ERR_USAGE if there is no such method.
 */
int method_call(struct method_context *ctx, const char *name, const struct jsonread *params,
	struct json *out, struct err *err);
