/*
 * op_read - a JSON object into an operation's request, by its parameter list.
 */
#pragma once
#include "core/jsonread.h"
#include "ops/op.h"

/*
 * params may be NULL: nothing is given.  Fills request (request_size bytes, zeroed by the
 * caller); texts are copied into arena.  null is as if it were not given.  ERR_USAGE for an unknown
 * key, a wrong type and a missing parameter.
 */
int op_read(const struct op *op, const struct jsonread *params, struct arena *arena, void *request,
	struct err *err);

/* A list of texts, one text alone, or an object, as NAME=VALUE; key is for the message. */
int op_read_texts(const char *key, const struct jsonread *value, struct arena *arena,
	struct op_texts *texts, struct err *err);
/* A text without NUL in it. */
int op_read_text(const char *key, const struct jsonread *value, struct arena *arena,
	const char **text, struct err *err);

/* The hint of an error in parameters: all there are. */
int op_read_hint(const char *name, const struct op_param *params, struct err *err);
/* What a parameter takes, for people: "TEXT". */
const char *op_read_wants(const struct op_param *param);
