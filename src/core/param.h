/*
 * param - the parameters of an operation or a query method, as data.
 *
 * An interface, such as the command line, gets texts or JSON.  An operation needs a request, which
 * is a struct.  A list of struct param describes the members of the request, and everything else
 * follows from the list: the readers of JSON (param_read), of KEY=VALUE (param_add_pairs) and of a
 * command line (param_argv.h); the writer of a request as JSON that param_read accepts; and the
 * JSON Schema of the request.
 */
#pragma once
#include <stddef.h>

#include "core/arena.h"
#include "core/jsonread.h"

#define PARAM_PATH_BYTES_MAX 65536

/* Types of values.  param_read reads the values of a request in the order of this enum. */
enum param_type {
	PARAM_TEXT,     /* const char *; NULL when not given */
	PARAM_FLAG,     /* bool */
	PARAM_COUNT,    /* int64_t > 0; 0 when not given */
	PARAM_BYTES,    /* uint64_t > 0, with K M G T; 0 when not given */
	PARAM_TEXTS,    /* struct param_texts: may be given several times */
	PARAM_STRING,   /* struct str, of any bytes; ptr NULL when not given */
	PARAM_OBJECT,   /* const struct jsonread *; NULL when not given */
	PARAM_CURSOR,   /* int64_t, from a text that an earlier reply gave */
	PARAM_INT,      /* int64_t, at most 'cap'; 'fallback' when not given */
	PARAM_TIME,     /* int64_t in ns; 'fallback' when not given */
	PARAM_REGEX,    /* a value that resolve() makes from a text; untouched when not given */
	PARAM_PATH,     /* struct param_path; the root when not given */
	PARAM_VALUE,    /* const struct jsonread *, of any type; NULL when not given */
	PARAM_DATASET,  /* as PARAM_REGEX */
	PARAM_SNAPSHOT, /* as PARAM_REGEX */
	PARAM_TYPES,
};

enum param_flags {
	PARAM_REQUIRED = 1 << 0,
	PARAM_POSITIONAL = 1 << 1,   /* takes a word that is no option, in the order of the list */
	PARAM_AFTER_DASHES = 1 << 2, /* PARAM_TEXTS: takes all words after "--" */
	PARAM_REST = 1 << 3,         /* PARAM_TEXTS: takes all words from the first non-option on */
	PARAM_FROM_ZERO = 1 << 4,    /* PARAM_INT, PARAM_BYTES: 0 is a value, too */
	PARAM_STDOUT = 1 << 5, /* PARAM_TEXT: "-" is the standard output of the caller, if any */
	PARAM_STDIN = 1 << 6,  /* PARAM_TEXT: "-" is the standard input of the caller, if any */
	PARAM_DESCRIPTOR = 1 << 7, /* PARAM_TEXT: a number is a descriptor of the caller */
	PARAM_PERSON = 1 << 8,     /* reaches beyond the environment, so a model cannot give it */
};

struct param {
	const char *name; /* JSON name; the option has dashes instead of underscores */
	const char *help; /* what the value is for: one line, for people and for models */
	size_t offset;    /* offset of the value in the request struct */
	uint8_t type;
	uint16_t flags;
	char letter; /* short option, or 0 */
	int64_t fallback;
	int64_t cap;
};

/*
 * A row of a list of parameters.  PARAM is for a parameter with the same name as its member in the
 * request struct, PARAM_AS for a parameter with another name.
 */
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
	struct str path;  /* the same path without a leading slash, "." and "//" */
};

struct param_reader {
	const char *name;           /* name of the operation, for messages */
	const struct param *params; /* ends with a NULL name; NULL: none */
	struct arena *arena;        /* gets copies of all texts except PARAM_STRING */
	void *request;              /* zeroed by the caller */
	bool lenient;               /* ignore keys that match no parameter */
	/*
	 * Fill in a value of a type that only the caller knows.  'slot' points to the value in the
	 * request.
	 */
	int (*resolve)(
		void *arg, const struct param *param, struct str text, void *slot, struct err *err);
	void *arg;
};

/*
 * Fill in the request from the members of a JSON object.  A member that is null counts as not
 * given; if 'object' is NULL, no parameter is given.  Returns ERR_USAGE for an unknown key,
 * ERR_INVALID for a wrong type or a missing parameter.
 */
int param_read(const struct param_reader *reader, const struct jsonread *object, struct err *err);

/*
 * Write KEY=VALUE pairs as members of the object that is open in 'out'.  The value of a text
 * parameter is written as a string.  Any other value is written as JSON if it can be read as JSON,
 * else as a string. 'name' is the name of the operation, as in param_reader.  A key that no
 * parameter has is refused.  But if 'name' is NULL, such a key is written as well, and the reader
 * of the object has to refuse it.
 */
int param_add_pairs(const char *name, const struct param *params, const struct param_texts *pairs,
	struct json *out, struct err *err);

/*
 * Read texts from a list of texts, from one text, or from an object, whose members become
 * NAME=VALUE. 'key' is the name that messages use.
 */
int param_read_texts(const char *key, const struct jsonread *value, struct arena *arena,
	struct param_texts *texts, struct err *err);
/*
 * Write a request as an object that param_read accepts.  The type of each parameter must be
 * PARAM_TEXTS or a type before PARAM_TEXTS in enum param_type.
 */
void param_write(
	struct json *out, const char *key, const struct param *params, const void *request);
/* Append a text, which is not copied.  The list itself is in the arena. */
void param_texts_add(struct param_texts *texts, struct arena *arena, const char *text);

/* The value of a PARAM_TEXT; NULL when not given, and for other types. */
const char *param_text(const struct param *param, const void *request);
/*
 * Read the number of a descriptor of the caller.  Returns -1 if the text does not consist of digits
 * alone, or if the number exceeds INT_MAX.
 */
int param_text_descriptor(const char *text);
/* The first parameter whose value is a descriptor of the caller, or NULL. */
const struct param *param_with_descriptor(const struct param *params, const void *request);
const struct param *param_find(const struct param *params, const char *name); /* or NULL */
/* Set each member of a request to the default of its parameter. */
void param_defaults(const struct param *params, void *request);
/* The kind of value that a parameter takes, as a word for people such as "TEXT". */
const char *param_wants(const struct param *param);
/* Write the JSON Schema of a parameter as a member of "properties", which is open in 'out'. */
void param_schema(struct json *out, const struct param *param);
