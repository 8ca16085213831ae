/* sandbox_priv - functions that sandbox.c and sandbox_run.c share. */
#pragma once
#include "sandbox/holder.h"
#include "sandbox/inside.h"
#include "sandbox/sandbox.h"

/*
 * Send a request, and return the holder's result or error.  While the error is ERR_BUSY, the
 * request is repeated for some time.
 */
int sandbox_ask(
	struct sandbox *sandbox, enum holder_request_type type, int32_t number, struct err *err);
/*
 * As sandbox_ask, for HOLDER_RUN with the given descriptors, some of which may be -1.  own_domain
 * is true if the command will have a Landlock domain of its own.
 */
int sandbox_ask_to_run(
	struct sandbox *sandbox, const int given[INSIDE_FDS], bool own_domain, struct err *err);
/* Send a request that has no answer. */
void sandbox_tell(struct sandbox *sandbox, enum holder_request_type type, int32_t number);
/*
 * After a failure, wait a moment for the holder to end.  If it ends, err is replaced by the reason
 * for its end.  Returns the negative code of err.
 */
int sandbox_explain(struct sandbox *sandbox, struct err *err);
