/*
 * wire - requests to the worker and its replies, as JSON and as structs.
 *
 * JSON is written compactly, members in the order of the structs below, strings as serde_json
 * writes them: programs that use its derived types read and write the same bytes.  Members that
 * came later than those types are written only when they say something.  A reader ignores keys
 * that it does not know, takes members in any order, and takes null for a missing optional one.
 *
 * Names and texts are bytes: one that is no part of valid UTF-8 is the lone surrogate
 * \udc80..\udcff.  All that a reader returns lives in the arena.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"

#define WIRE_ID_MAX 256 /* bytes of an id, as JSON */

enum wire_kind {
	WIRE_PING,
	WIRE_SHUTDOWN,
	WIRE_READ,
	WIRE_WRITE,
	WIRE_EDIT,
	WIRE_GLOB,
	WIRE_GREP,
	WIRE_STAT,
	WIRE_GET_ENV,
	WIRE_CANCEL, /* request only */
	WIRE_PONG,   /* these are replies only */
	WIRE_ERROR,
};

enum wire_encoding { WIRE_BYTES, WIRE_BASE64, WIRE_UTF8 };

enum wire_code {
	WIRE_UNIMPLEMENTED,
	WIRE_POLICY_DENIED,
	WIRE_IO,
	WIRE_PROTOCOL,
	WIRE_INTERNAL,
};

struct wire_request {
	enum wire_kind kind;
	struct str path;                   /* read, write, edit, stat */
	int64_t max_bytes, offset;         /* read; -1: not given */
	enum wire_encoding encoding;       /* of the reply to read; of content in write */
	struct str content;                /* write: decoded */
	struct str old_string, new_string; /* edit */
	bool replace_all;
	struct str pattern, root; /* glob, grep */
	struct str include;       /* grep; ptr NULL: not given */
	int64_t max_matches;      /* grep; -1: not given */
	bool no_ignore;           /* glob, grep */
	struct str *names;        /* get_env */
	size_t n_names;
	struct str id; /* as JSON; empty: none */
};

struct wire_match {
	struct str path;
	uint64_t line; /* from 1 */
	struct str text;
	bool cut; /* text is only the beginning of the line */
};

struct wire_reply {
	enum wire_kind kind;
	struct str content; /* read */
	enum wire_encoding encoding;
	uint64_t count;    /* write: bytes; edit: replacements */
	struct str *paths; /* glob */
	size_t n_paths;
	struct wire_match *matches; /* grep */
	size_t n_matches;
	uint64_t size; /* stat */
	bool is_dir, is_symlink, has_mode;
	uint32_t mode;
	int64_t mtime;      /* seconds */
	struct str *values; /* get_env; ptr NULL: the variable is not set */
	size_t n_values;
	enum wire_code code; /* error */
	struct str message;
	const char *error; /* name of the errno, or NULL */
	uint64_t skipped;  /* glob, grep: directories and files that could not be read */
	bool truncated;    /* read, glob, grep: there is more than fits */
	struct str id;
};

/*
 * ERR_INVALID, or ERR_LIMIT for too deep nesting.  *fault is the code of the reply that says so,
 * and WIRE_INTERNAL for what is not JSON or no object with a kind: the connection ends.  It goes on
 * after a request of an unknown kind or with wrong members, whose id is in out.
 */
int wire_read_request(struct str json, struct arena *arena, struct wire_request *out,
	enum wire_code *fault, struct err *err);
int wire_read_reply(struct str json, struct arena *arena, struct wire_reply *out, struct err *err);
void wire_write_request(struct buf *out, const struct wire_request *request);
void wire_write_reply(struct buf *out, const struct wire_reply *reply);

/* The bytes that a text takes as a JSON string, with its quotes. */
size_t wire_text_size(struct str text);
/* How many bytes of content fit into room as a value of this encoding. */
size_t wire_content_fits(struct str content, enum wire_encoding encoding, size_t room);
