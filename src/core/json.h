/*
 * json - writes JSON as a stream; jsonread.h reads JSON.
 *
 * The writer appends to a struct buf.  A writer with a sink passes the buffer on to the sink when
 * the buffer is full, so a document of any length needs little memory.  The writer adds commas and
 * line breaks itself.  Keys are ASCII literals.  Raw bytes, such as file names, are written with
 * the escapes of docs/FORMAT.md: a byte that is not part of valid UTF-8 becomes one of the lone
 * surrogates \udc80..\udcff.
 *
 *	json_open(&j, NULL, '{');  json_str(&j, "name", name);  json_close(&j);
 *
 * Values in an array, and the value at the top, have no key: pass NULL as their key.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"

#define JSON_DEPTH_MAX 64

struct json {
	struct buf out;
	int (*sink)(void *arg, const char *bytes, size_t len); /* NULL: all bytes stay in 'out' */
	void *arg;
	int depth;
	bool pretty; /* one member per line, indented by two spaces */
	bool failed; /* the sink returned < 0; later writes are dropped */
	bool comma[JSON_DEPTH_MAX + 1];
	char closer[JSON_DEPTH_MAX + 1];
	size_t opened[JSON_DEPTH_MAX + 1]; /* positions of the open brackets in 'out' */
};

#define JSON_INIT                                                                                  \
	{                                                                                          \
		.out = BUF_INIT                                                                    \
	}

void json_release(struct json *json);
void json_open(struct json *json, const char *key, char bracket);     /* '{' or '[' */
void json_close(struct json *json);                                   /* the innermost bracket */
void json_str(struct json *json, const char *key, struct str text);   /* raw bytes */
void json_text(struct json *json, const char *key, const char *text); /* NULL gives null */
void json_int(struct json *json, const char *key, int64_t value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value); /* null if not finite */
void json_bool(struct json *json, const char *key, bool value);
void json_none(struct json *json, const char *key);
/* Write a number, or null if the number is not known. */
void json_number(struct json *json, const char *key, bool known, int64_t number);
/* Write an array of n texts. */
void json_texts(struct json *json, const char *key, const char *const *texts, size_t n);
void json_strs(struct json *json, const char *key, const struct str *list, size_t n);
/* Write an array with the names of the bits that are set among the lowest n bits. */
void json_bits(struct json *json, const char *key, unsigned bits, unsigned n,
	const char *(*name)(unsigned bit));
/* Write a copy of the object or array that was closed last.  This works only without a sink. */
void json_again(struct json *json, const char *key);
/* Add one or more members that are JSON already, such as "a":1,"b":2, to the open object. */
void json_members(struct json *json, struct str members);

/*
 * A position in the document.  json_rewind goes back to the position and drops everything behind
 * it.  The writer must have no sink.
 */
struct json_mark {
	size_t len;
	int depth;
	bool comma;
};
struct json_mark json_mark(const struct json *json);
void json_rewind(struct json *json, struct json_mark mark);
/*
 * json_since returns the bytes written since a mark, and json_written returns all bytes.  A NUL
 * follows the bytes, and is not counted in their length.  The writer must have no sink.
 */
struct str json_since(const struct json *json, struct json_mark mark);
struct str json_written(const struct json *json);
/*
 * End a document: write a newline, and pass the rest of the buffer to the sink.  Returns 0, or -1
 * if the document is incomplete, because the sink failed or the buffer reached its maximum.
 */
int json_end(struct json *json);

/*
 * Write elements of an array in another thread.  json_part prepares the writer 'part' for elements
 * of the array that is open in the writer 'whole'.  Another thread can then write these elements
 * into 'part'.  json_add_part inserts them into 'whole' when it is their turn.
 *
 * Before json_part, 'part' must be JSON_INIT, or must have been passed to json_add_part.  The
 * caller releases 'part'.  'first' is true if the elements are the first ones of the array.  There
 * must be at least one element.
 */
void json_part(struct json *part, const struct json *whole, bool first);
void json_add_part(struct json *whole, struct json *part);

/* Append a text as a quoted JSON string, with the escapes that the head of this file describes. */
void json_quote(struct buf *out, struct str text);
