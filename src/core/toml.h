/*
 * toml - reads configuration files in a part of TOML 1.0.
 *
 * A file is a sequence of items: headers of tables, such as [hosts.nas], and keys with a value. The
 * caller takes them one by one and decides which tables and keys there may be.  So the caller also
 * finds tables and keys that are given twice.
 *
 * Values are strings on one line ("basic" and 'literal'), booleans, and lists of values.  Numbers
 * and dates are recognised, but their text is not evaluated.  Strings on several lines, inline
 * tables and lists of tables are refused with a message that names them.
 *
 * All names and texts are copies in the caller's arena and end with a NUL.  They are UTF-8 and have
 * no NUL inside.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "core/str.h"

#define TOML_SIZE_MAX ((size_t)1 << 20)
#define TOML_NAMES_MAX 8    /* names of one key or header, with dots between them */
#define TOML_DEPTH_MAX 8    /* lists inside each other */
#define TOML_ITEMS_MAX 4096 /* values of one list */

struct toml_place {
	size_t line, column; /* from 1; columns are bytes */
};

enum toml_type { TOML_TEXT, TOML_BOOL, TOML_NUMBER, TOML_LIST };

struct toml_value {
	enum toml_type type;
	struct toml_place place;
	struct str text; /* of TOML_TEXT; of TOML_NUMBER, as it is written */
	bool truth;      /* of TOML_BOOL */
	const struct toml_value *items;
	size_t count; /* of TOML_LIST */
};

struct toml_item {
	bool is_header; /* true: a header; false: a key of the table of the last header */
	struct toml_place place;
	struct str names[TOML_NAMES_MAX];
	size_t n_names;
	struct toml_value value; /* of a key */
};

struct toml {
	struct str rest;
	const char *line_start;
	size_t line;
	struct arena *arena;
};

/* Begin to read a text, which must stay unchanged.  Returns ERR_LIMIT if the text is too long. */
int toml_init(struct toml *toml, struct str text, struct arena *arena, struct err *err);
/* Get the next item.  Returns 1, 0 at the end, or negative. */
int toml_next(struct toml *toml, struct toml_item *item, struct err *err);

/*
 * Append a place to the text of an error: " (line 3, column 1)".  Returns the error's negative
 * code.
 */
int toml_at(struct toml_place place, struct err *err);
const char *toml_type_name(enum toml_type type); /* with an article: "a string" */
