/* sandbox_priv - what sandbox.c and sandbox_run.c share. */
#pragma once
#include "sandbox/holder.h"
#include "sandbox/inside.h"
#include "sandbox/sandbox.h"

/* Send a request and return the holder's result or error.  Tries again while that is ERR_BUSY. */
int sandbox_ask(
	struct sandbox *sandbox, enum holder_request_type type, int32_t number, struct err *err);
/*
 * The same for HOLDER_RUN with these descriptors, of which some may be -1.  own_domain: the command
 * will have a Landlock domain of its own.
 */
int sandbox_ask_to_run(
	struct sandbox *sandbox, const int given[INSIDE_FDS], bool own_domain, struct err *err);
/* Send a request that has no answer. */
void sandbox_tell(struct sandbox *sandbox, enum holder_request_type type, int32_t number);
/*
 * After a failure: if the sandbox has ended or is about to, replace err by that reason.  Returns
 * the code of err.
 */
int sandbox_explain(struct sandbox *sandbox, struct err *err);
