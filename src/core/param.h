/*
 * param - the parameters of an operation or a query method, as data, and the one way from what a
 * face was given to the struct that the operation runs with.
 *
 * A list of struct param describes the members of a request.  From it come the reader of JSON
 * (param_read), of KEY=VALUE (param_add_pairs) and of a command line (param_argv.h), the writer of
 * a request as JSON, which the readers take back, and the JSON Schema of the request.
 */
#pragma once
#include <stddef.h>

#include "core/arena.h"
#include "core/jsonread.h"

#define PARAM_PATH_BYTES_MAX 65536

/* The order is that in which values are checked. */
enum param_type {
	PARAM_TEXT,     /* const char *; NULL when not given */
	PARAM_FLAG,     /* bool */
	PARAM_COUNT,    /* int64_t > 0; 0 when not given */
	PARAM_BYTES,    /* uint64_t > 0, with K M G T; 0 when not given */
	PARAM_TEXTS,    /* struct param_texts: may be given several times */
	PARAM_STRING,   /* struct str, of any bytes; ptr NULL when not given */
	PARAM_OBJECT,   /* const struct jsonread *; NULL when not given */
	PARAM_CURSOR,   /* int64_t: what an earlier reply gave */
	PARAM_INT,      /* int64_t: fallback when not given, never above cap */
	PARAM_TIME,     /* int64_t, ns: fallback when not given */
	PARAM_REGEX,    /* the resolver's, from a text; untouched when not given */
	PARAM_PATH,     /* struct param_path; the root when not given */
	PARAM_VALUE,    /* const struct jsonread *, of any type; NULL when not given */
	PARAM_DATASET,  /* likewise */
	PARAM_SNAPSHOT, /* likewise */
	PARAM_TYPES,
};

enum param_flags {
	PARAM_REQUIRED = 1 << 0,
	PARAM_POSITIONAL = 1 << 1,   /* on the command line without a name, in this order */
	PARAM_AFTER_DASHES = 1 << 2, /* PARAM_TEXTS: everything behind "--" */
	PARAM_REST = 1 << 3, /* PARAM_TEXTS: the first word that is no option, and all behind */
	PARAM_FROM_ZERO = 1 << 4, /* PARAM_INT, PARAM_BYTES: 0 is a value, too */
};

struct param {
	const char *name; /* JSON name; the option is this with dashes for underscores */
	const char *help; /* what the value is for: one line, for people and for models */
	size_t offset;    /* in the request struct */
	uint8_t type;
	uint8_t flags;
	char letter; /* short option, or 0 */
	int64_t fallback;
	int64_t cap;
};

/* A row of a list for the member of the request struct that is called like the parameter. */
#define PARAM(REQUEST, MEMBER, TYPE, FLAGS, HELP, ...)                                             \
	PARAM_AS(#MEMBER, REQUEST, MEMBER, TYPE, FLAGS, HELP, __VA_ARGS__)
#define PARAM_AS(NAME, REQUEST, MEMBER, TYPE, FLAGS, HELP, ...)                                    \
	{                                                                                          \
		.name = (NAME), .help = (HELP), .offset = offsetof(struct REQUEST, MEMBER),        \
		.type = PARAM_##TYPE, .flags = (FLAGS), __VA_ARGS__                                \
	}

struct param_texts {
	const char **list;
	size_t count;
};

struct param_path {
	struct str given; /* as the caller wrote it, to be repeated in the result */
	struct str path;  /* what is meant: no leading slash, no "." or "//" */
};

struct param_reader {
	const char *name;           /* of what is asked for: in messages */
	const struct param *params; /* ends with a NULL name; NULL: none */
	struct arena *arena;        /* takes copies of all texts but PARAM_STRING */
	void *request;              /* zeroed by the caller */
	bool lenient;               /* keys that no parameter has are ignored */
	/* Fill the slot of a type that only the caller knows. */
	int (*resolve)(
		void *arg, const struct param *param, struct str text, void *slot, struct err *err);
	void *arg;
};

/*
 * Fill the request from an object (NULL: nothing is given; a member that is null is not given
 * either).  ERR_INVALID for an unknown key, a wrong type and a missing parameter.
 */
int param_read(const struct param_reader *reader, const struct jsonread *object, struct err *err);

/*
 * KEY=VALUE pairs as members of the object that is open in out.  A value is text where the
 * parameter is, else JSON where it reads as such.  name: as in param_reader, to refuse keys that
 * no parameter has; NULL: the reader at the other end will.
 */
int param_add_pairs(const char *name, const struct param *params, const struct param_texts *pairs,
	struct json *out, struct err *err);

/* A list of texts, one text alone, or an object, as NAME=VALUE; key is for the message. */
int param_read_texts(const char *key, const struct jsonread *value, struct arena *arena,
	struct param_texts *texts, struct err *err);
/* The request as an object that param_read takes.  For types up to PARAM_TEXTS. */
void param_write(
	struct json *out, const char *key, const struct param *params, const void *request);
/* The list grows by a text; the arena keeps the room. */
void param_texts_add(struct param_texts *texts, struct arena *arena, const char *text);

const struct param *param_find(const struct param *params, const char *name); /* or NULL */
/* Fill a request with the values of parameters that are not given. */
void param_defaults(const struct param *params, void *request);
/* The kind of value that a parameter takes, for people: "TEXT". */
const char *param_wants(const struct param *param);
/* The parameter as a member of the properties of a JSON Schema, in the object that is open. */
void param_schema(struct json *out, const struct param *param);
