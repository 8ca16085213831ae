/*
 * jsonread - reading JSON.
 *
 * A text becomes a tree of values that never changes; all of it lives until the root is freed.
 * Anything that is not exactly one JSON value (RFC 8259, UTF-8) is refused, and so is what would
 * cost too much: see the limits.  Of a key given twice the last one counts.
 *
 * Strings are raw bytes, the inverse of core/json.h: the lone surrogates \udc80..\udcff
 * stand for the bytes 0x80..0xff, so a file name that is not UTF-8 comes back as it
 * was written.  Other lone surrogates are refused.  A key is UTF-8 without NUL.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/json.h"
#include "core/str.h"

#define JSONREAD_SIZE_MAX ((size_t)1 << 20)
#define JSONREAD_DEPTH_MAX 64 /* arrays and objects inside each other */

enum jsonread_type {
	JSONREAD_NULL,
	JSONREAD_BOOL,
	JSONREAD_INT, /* fits an int64_t; a larger one is refused by the parser */
	JSONREAD_REAL,
	JSONREAD_STRING,
	JSONREAD_ARRAY,
	JSONREAD_OBJECT,
};

struct jsonread; /* one value */

/* NULL on error: ERR_LIMIT past a limit, else ERR_INVALID with line and column. */
struct jsonread *jsonread_new(struct str text, struct err *err);
/* The same for a text of up to max bytes instead of JSONREAD_SIZE_MAX. */
struct jsonread *jsonread_new_max(struct str text, size_t max, struct err *err);
void jsonread_free(struct jsonread *root); /* only for a root from jsonread_new */
void jsonread_freep(struct jsonread **root);

/* The type of a value; each of the next four needs its own type. */
enum jsonread_type jsonread_type(const struct jsonread *value);
bool jsonread_bool(const struct jsonread *value);
int64_t jsonread_int(const struct jsonread *value);
double jsonread_real(const struct jsonread *value);
struct str jsonread_str(const struct jsonread *value);

/* Items of an array, members of an object in the order given; 0 for anything else. */
size_t jsonread_count(const struct jsonread *value);
const struct jsonread *jsonread_item(const struct jsonread *value, size_t index);
struct str jsonread_key(const struct jsonread *object, size_t index); /* NUL-terminated */
/* NULL when there is no such member, or value is not an object. */
const struct jsonread *jsonread_member(const struct jsonread *value, const char *name);

/* The result of looking up a member of an object. */
enum jsonread_found {
	JSONREAD_ABSENT,
	JSONREAD_IS_NULL,
	JSONREAD_WRONG_TYPE,
	JSONREAD_FOUND, /* only then is the output written */
};
enum jsonread_found jsonread_get_str(
	const struct jsonread *object, const char *name, struct str *value);
enum jsonread_found jsonread_get_int(
	const struct jsonread *object, const char *name, int64_t *value);
enum jsonread_found jsonread_get_bool(const struct jsonread *object, const char *name, bool *value);
enum jsonread_found jsonread_get_object(
	const struct jsonread *object, const char *name, const struct jsonread **value);

/*
 * Splits a text that is too large for a tree: the members of its object, or the items of its array,
 * each as a text of its own.  Only strings and brackets are checked here; a part is checked when it
 * is read.
 */
struct jsonread_parts {
	struct str rest;
	bool object, begun;
};
/* ERR_INVALID unless text begins like an object or an array. */
int jsonread_parts_init(struct jsonread_parts *parts, struct str text, struct err *err);
/* The next part: 1, 0 at the end, negative.  The key is as written, empty in an array. */
int jsonread_parts_next(
	struct jsonread_parts *parts, struct str *key, struct str *value, struct err *err);

/* Write a value as it was read; out must have room for its nesting (JSON_DEPTH_MAX). */
void jsonread_write(struct json *out, const char *key, const struct jsonread *value);
/* Write text as the JSON value it is, or as a string if it is not JSON. */
void jsonread_write_text(struct json *out, const char *key, struct str text);
