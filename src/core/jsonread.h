/*
 * jsonread - reads JSON.
 *
 * A text becomes a tree of values, which never change.  All of them live until the root is freed.
 * A text that is not exactly one JSON value (RFC 8259, UTF-8) is refused, and so is a text that
 * exceeds one of the limits below.  If an object has a key twice, only the last one counts.
 *
 * A string becomes raw bytes, which is the reverse of writing it with core/json.h: each of the lone
 * surrogates \udc80..\udcff becomes one of the bytes 0x80..0xff.  So a file name that is not UTF-8
 * is read as the bytes that were written.  Other lone surrogates are refused.  A key is UTF-8
 * without NUL.
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
	JSONREAD_INT, /* fits an int64_t; the parser refuses a larger integer */
	JSONREAD_REAL,
	JSONREAD_STRING,
	JSONREAD_ARRAY,
	JSONREAD_OBJECT,
};

struct jsonread; /* one value */

/*
 * Returns the root of the tree, or NULL on error: ERR_LIMIT when the text exceeds a limit, else
 * ERR_INVALID with a message that has the line and the column.
 */
struct jsonread *jsonread_new(struct str text, struct err *err);
/* As jsonread_new, but for a text of up to max bytes instead of JSONREAD_SIZE_MAX. */
struct jsonread *jsonread_new_max(struct str text, size_t max, struct err *err);
/*
 * As jsonread_new, but a number that is too large for an int64_t or a double is read as the nearest
 * number that fits.  A number of more than JSONREAD_NEAREST_MAX characters is refused.
 */
struct jsonread *jsonread_new_nearest(struct str text, struct err *err);
/*
 * As jsonread_new_nearest, but strings may have lone surrogates, and keys may have any bytes.  This
 * is for a text whose parts are read again by a stricter function.  A lone surrogate becomes three
 * bytes that are not UTF-8.
 */
struct jsonread *jsonread_new_lenient(struct str text, struct err *err);
#define JSONREAD_NEAREST_MAX 64
void jsonread_free(struct jsonread *root); /* only for a root, never for a value below it */
void jsonread_freep(struct jsonread **root);

/*
 * The type of a value.  Each of the next four functions may be called only for a value of the
 * corresponding type.
 */
enum jsonread_type jsonread_type(const struct jsonread *value);
bool jsonread_bool(const struct jsonread *value);
int64_t jsonread_int(const struct jsonread *value);
double jsonread_real(const struct jsonread *value);
struct str jsonread_str(const struct jsonread *value);

struct jsonread_place {
	size_t line, column; /* from 1; columns are bytes */
};
/*
 * Returns where a value begins in the text that it was read from.  The place of a member is the
 * place of its key.  The place of the root is the start of the text.
 */
struct jsonread_place jsonread_place(const struct jsonread *value, struct str text);
/* Returns the value of a member as it stands in the text that it was read from. */
struct str jsonread_raw(const struct jsonread *member, struct str text);
/* Whether the text had the key of this member more than once. */
bool jsonread_is_repeated(const struct jsonread *member);

/*
 * The number of items of an array, or of members of an object; 0 for any other value.  Items and
 * members have indexes in the order of the text.
 */
size_t jsonread_count(const struct jsonread *value);
const struct jsonread *jsonread_item(const struct jsonread *value, size_t index);
struct str jsonread_key(const struct jsonread *object, size_t index); /* NUL-terminated */
/* The value of a member; NULL if there is no such member, or if the value is not an object. */
const struct jsonread *jsonread_member(const struct jsonread *value, const char *name);

/* The result of looking up a member of an object. */
enum jsonread_found {
	JSONREAD_ABSENT,
	JSONREAD_IS_NULL,
	JSONREAD_WRONG_TYPE,
	JSONREAD_FOUND, /* the output is written only with this result */
};
enum jsonread_found jsonread_get_str(
	const struct jsonread *object, const char *name, struct str *value);
enum jsonread_found jsonread_get_int(
	const struct jsonread *object, const char *name, int64_t *value);
enum jsonread_found jsonread_get_bool(const struct jsonread *object, const char *name, bool *value);
enum jsonread_found jsonread_get_object(
	const struct jsonread *object, const char *name, const struct jsonread **value);

/*
 * Splits a text that is too large for a tree into parts.  The parts of an object are its members,
 * and the parts of an array are its items.  Each part is a text of its own.  Only strings and
 * brackets are checked here.  The caller finds out whether a part is valid JSON when it reads the
 * part.
 */
struct jsonread_parts {
	struct str rest;
	bool object, begun;
};
/* Begin with a text.  Returns ERR_INVALID if the text does not begin like an object or an array. */
int jsonread_parts_init(struct jsonread_parts *parts, struct str text, struct err *err);
/*
 * Get the next part.  Returns 1, 0 at the end, or a negative error. *key becomes the text between
 * the quotes of the key, with its escapes.  In an array, *key becomes empty.
 */
int jsonread_parts_next(
	struct jsonread_parts *parts, struct str *key, struct str *value, struct err *err);

/*
 * Write a value that was read.  The depth of 'out' plus the depth of 'value' must not exceed
 * JSON_DEPTH_MAX.
 */
void jsonread_write(struct json *out, const char *key, const struct jsonread *value);
/* Returns a value as JSON, in a text that the caller frees. */
char *jsonread_text(const struct jsonread *value);
/* Write a text unchanged if it is a JSON value.  Write any other text as a JSON string. */
void jsonread_write_text(struct json *out, const char *key, struct str text);
