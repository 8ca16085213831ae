/*
 * json - writing JSON as a stream; jsonread.h is the way back.
 *
 * The writer appends to a struct buf and, when it has a sink, drains the buffer into it, so a
 * document of any length needs little memory.  Commas and nesting are its business; keys are plain
 * ASCII literals.  Raw bytes (file names) are written with the escape of docs/FORMAT.md: a byte
 *that is not part of valid UTF-8 becomes the lone surrogate \udc80..\udcff.
 *
 *	json_open(&j, NULL, '{');  json_str(&j, "name", name);  json_close(&j);
 *
 * A NULL key inside an array (or at the top) means "no key".
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
	int (*sink)(void *arg, const char *bytes, size_t len); /* NULL: keep all in out */
	void *arg;
	int depth;
	bool pretty; /* indent by two spaces, "key": value */
	bool failed; /* the sink returned < 0; later writes are dropped */
	bool comma[JSON_DEPTH_MAX + 1];
	char closer[JSON_DEPTH_MAX + 1];
	size_t opened[JSON_DEPTH_MAX + 1]; /* positions in out */
};

#define JSON_INIT                                                                                  \
	{                                                                                          \
		.out = BUF_INIT                                                                    \
	}

void json_release(struct json *json);
void json_open(struct json *json, const char *key, char bracket);     /* '{' or '[' */
void json_close(struct json *json);                                   /* the innermost one */
void json_str(struct json *json, const char *key, struct str text);   /* raw bytes */
void json_text(struct json *json, const char *key, const char *text); /* NULL gives null */
void json_int(struct json *json, const char *key, int64_t value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value); /* null unless finite */
void json_bool(struct json *json, const char *key, bool value);
void json_none(struct json *json, const char *key);
/* Write the object or array that was closed last once more.  Only without a sink. */
void json_again(struct json *json, const char *key);
/* Add members, already JSON, to the open object, as in "a":1,"b":2; at least one. */
void json_members(struct json *json, struct str members);

/* A position to go back to, which drops everything written after it.  Only without a sink. */
struct json_mark {
	size_t len;
	int depth;
	bool comma;
};
struct json_mark json_mark(const struct json *json);
void json_rewind(struct json *json, struct json_mark mark);
/* Everything written since then, or at all; only without a sink.  A NUL follows, uncounted. */
struct str json_since(const struct json *json, struct json_mark mark);
struct str json_written(const struct json *json);
/*
 * End a top-level document: newline, then drain into the sink.  0, or -1 if the document is
 * incomplete: the sink failed, or out grew past its maximum.
 */
int json_end(struct json *json);

/*
 * Elements of the open array of whole can be written elsewhere, by another thread for example, into
 * part (JSON_INIT, or as json_add_part left it; the caller releases it), and be inserted when it is
 * their turn. first: the array is empty before them.  There must be at least one element.
 */
void json_part(struct json *part, const struct json *whole, bool first);
void json_add_part(struct json *whole, struct json *part);

/* Append text as a quoted JSON string with the escape above. */
void json_quote(struct buf *out, struct str text);
