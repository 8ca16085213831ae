/*
 * schema - JSON Schema of the request and the result of an operation.
 *
 * The request is described by its parameters.  The result is described by a shape, which is a
 * short text beside the code that writes the members:
 *
 *	members  NAME:TYPE NAME:TYPE ...
 *	NAME?    the member may be missing
 *	TYPE     text int num bool any, [TYPE] for a list, {members} for an object
 *	TYPE?    the value may be null
 *
 * as in "id:text parent:text? paths:[{op:text path:text new_path?:text}]".
 */
#pragma once
#include "core/operation.h"

/* Write an object with name, description, read_only, destructive, request and result. */
void schema_write(struct json *out, const char *key, const struct op *op);
/* Write only the schema of a request with these parameters.  NULL: there are none. */
void schema_request(struct json *out, const char *key, const struct param *params);
/* Write only the schema of the result.  'more' is the shape of further members, or NULL. */
void schema_result(struct json *out, const char *key, const struct op *op, const char *more);
