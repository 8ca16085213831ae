/*
 * wire - requests to the worker and its replies, as JSON and as structs.
 *
 * JSON is written compactly, with the members in the order of the structs below, and strings as
 * serde_json writes them.  So programs with types derived by serde read and write the same bytes.
 * Members that those types lack, because the protocol got them later, are written only if they
 * differ from the default.  A reader ignores unknown keys, accepts members in any order, and treats
 * null as a missing optional member.
 *
 * Names and texts are bytes.  A byte that is no part of valid UTF-8 is written as a lone surrogate,
 * \udc80..\udcff.  All texts that a reader returns are in the arena.
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
	WIRE_CANCEL, /* the last kind that is only a request */
	WIRE_PONG,   /* this kind and the following ones are only replies */
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
	enum wire_encoding encoding;       /* of the reply (read), or of content (write) */
	struct str content;                /* write: decoded */
	struct str old_string, new_string; /* edit */
	bool replace_all;
	struct str pattern, root; /* glob, grep */
	struct str include;       /* grep; ptr NULL: not given */
	int64_t max_matches;      /* grep; -1: not given */
	bool no_ignore;           /* glob, grep */
	struct str *names;        /* get_env */
	size_t n_names;
	struct str id; /* id as JSON; empty: none */
};

struct wire_match {
	struct str path;
	uint64_t line; /* from 1 */
	struct str text;
	bool cut; /* 'text' is only the beginning of the line */
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
	bool truncated;    /* read, glob, grep: the reply has no room for everything */
	struct str id;
};

/*
 * Read a request.  Fails with ERR_INVALID, or with ERR_LIMIT if the JSON nests too deeply.  *fault
 * is then the code of the error reply.  WIRE_INTERNAL means that the text is not JSON, or not an
 * object with a kind.  In that case the connection must end.  After a request of an unknown kind or
 * with wrong members, the connection goes on, and *out has the id.
 */
int wire_read_request(struct str json, struct arena *arena, struct wire_request *out,
	enum wire_code *fault, struct err *err);
int wire_read_reply(struct str json, struct arena *arena, struct wire_reply *out, struct err *err);
void wire_write_request(struct buf *out, const struct wire_request *request);
void wire_write_reply(struct buf *out, const struct wire_reply *reply);

/* Returns the number of bytes that a text takes as a JSON string, with its quotes. */
size_t wire_text_size(struct str text);
/* Returns how many bytes of the content, in this encoding, fit into 'room' bytes of JSON. */
size_t wire_content_fits(struct str content, enum wire_encoding encoding, size_t room);
