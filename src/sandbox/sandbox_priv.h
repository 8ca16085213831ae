/* sandbox_priv - what sandbox.c and sandbox_run.c share. */
#pragma once
#include "sandbox/holder.h"
#include "sandbox/inside.h"
#include "sandbox/sandbox.h"

/* Ask the holder; its result or its error.  Tries again while it answers ERR_BUSY. */
int sandbox_ask(
	struct sandbox *sandbox, enum holder_request_type type, int32_t number, struct err *err);
/* The same for HOLDER_RUN with these descriptors; -1: none of that sort. */
int sandbox_ask_to_run(struct sandbox *sandbox, const int given[INSIDE_FDS], struct err *err);
/* Tell it something that has no answer. */
void sandbox_tell(struct sandbox *sandbox, enum holder_request_type type, int32_t number);
/*
 * After a failure that the end of the sandbox explains: say that instead, if it has
 * ended or is about to.  Returns the code of err.
 */
int sandbox_explain(struct sandbox *sandbox, struct err *err);
