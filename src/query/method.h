/*
 * method - the questions that can be asked of snapshots, as data: one struct op each, one table of
 * them all (docs/QUERY.md).
 *
 * A face such as 'strata query' finds the method, hands over the parameters as JSON, and gets the
 * members of the result object written into its own writer.  Parameters are checked against their
 * description before the method runs, in a fixed order: strings, integers, times, regexes, paths,
 * then the names of datasets and snapshots, then whether a snapshot exists.  Keys that no parameter
 * has are ignored.
 *
 * Methods only read, and only through a provider.  Each is bounded in time and
 * in the size of its reply; a list that had to end early says "truncated", and where the method
 * takes one gives a "cursor" with which the same call goes on.  Snapshots do not change, so a
 * cursor is just the number of rows given so far.
 */
#pragma once
#include "core/operation.h"
#include "query/provider.h"

#define METHOD_PROTOCOL "1"
#define METHOD_REPLY_MAX ((size_t)8 << 20)
#define METHOD_SECONDS_MAX 30

struct method_context {
	struct provider *provider;
	const char *dataset; /* what the provider's dataset is called */
	struct arena *arena; /* lives as long as the call */
	size_t reply_max;    /* 0: METHOD_REPLY_MAX */
	int64_t time_max;    /* ns; 0: METHOD_SECONDS_MAX */
	/* Asked now and then; true ends the call with an error.  May be NULL. */
	bool (*cancelled)(void *arg);
	void *arg;
	struct json_mark start; /* set by method_call: where in the reply the result begins */
};

/* Every method, sorted by name.  The output of an op.answer that failed is taken back. */
extern const struct op *const methods[];
extern const size_t methods_count;
const struct op *method_find(const char *name); /* NULL: no such method */

/*
 * Check params (NULL: none given), run, and write the members of the result into the object that
 * is open in out, which keeps all in memory.  After an error out is as it was.  ERR_USAGE: there
 * is no such method.
 */
int method_call(struct method_context *ctx, const char *name, const struct jsonread *params,
	struct json *out, struct err *err);
