/*
 * jansson holds strings as UTF-8 and refuses lone surrogates, so bytes that are
 * not UTF-8 are brought past it in disguise.  Before parsing, inside strings,
 *
 *	\udcXX (XX from 80 to ff, not the second half of a pair)  becomes  \u0000\u00XX
 *	\u0000                                                    becomes  \u0000\u0000
 *
 * JSON allows no raw NUL in a string, so each NUL jansson hands out is the first
 * of such a pair, and the character behind it says which byte was meant.  No
 * other text changes, so whatever else is wrong with it is found by jansson.
 *
 * The same pass counts brackets: jansson's own limit of nesting is its stack's,
 * not ours.  The tree is then copied into an arena, strings undisguised.
 */
#include "core/jsonread.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/own.h"

struct member {
	struct str key;
	struct jsonread *value;
};

struct jsonread {
	enum jsonread_type type;
	size_t count;
	union {
		bool truth;
		int64_t integer;
		double real;
		struct str text;
		struct jsonread *items;
		struct member *members;
	};
};

struct document {
	struct jsonread root; /* first, so that freeing it finds the rest */
	struct arena arena;
};

/* ----------------------------------------------------------------- disguise */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code unit of the "\uXXXX" at the start of text, or -1. */
static int escaped_unit(struct str text)
{
	int unit = 0;

	if (text.len < 6 || text.ptr[0] != '\\' || text.ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = hex_value(text.ptr[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Copy the escape at the start of text in its disguise; returns its length. */
static size_t prepare_escape(struct buf *out, struct str text)
{
	int unit = escaped_unit(text);
	size_t len = unit >= 0 ? 6 : text.len < 2 ? text.len : 2;

	if (is_high(unit) && is_low(escaped_unit((struct str){ text.ptr + 6, text.len - 6 }))) {
		len = 12;
	} else if (unit == 0 || (unit >= 0xdc80 && unit <= 0xdcff)) {
		buf_addf(out, "\\u0000\\u%04x", (unsigned)unit & 0xff);
		return len;
	}
	buf_add(out, text.ptr, len);
	return len;
}

static int prepare(struct buf *out, struct str text, struct err *err)
{
	bool in_string = false;
	int depth = 0;

	for (size_t i = 0; i < text.len;) {
		char c = text.ptr[i];

		if (in_string && c == '\\') {
			i += prepare_escape(out, (struct str){ text.ptr + i, text.len - i });
			continue;
		}
		if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '[' || c == '{'))
			depth++;
		else if (!in_string && (c == ']' || c == '}'))
			depth--;
		if (depth > JSONREAD_DEPTH_MAX)
			return err_set(err, ERR_LIMIT, "JSON nested more than %d deep",
				JSONREAD_DEPTH_MAX);
		buf_addc(out, c);
		i++;
	}
	return 0;
}

/* --------------------------------------------------------------------- tree */

static struct str copy_string(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (!text[i]) {
			/* Behind it NUL, or U+0080..U+00FF in two bytes. */
			unsigned char next = (unsigned char)text[++i];

			if (next) {
				assert((next & 0xfe) == 0xc2);
				copy[n++] = (char)((next & 3) << 6 | (text[++i] & 0x3f));
				continue;
			}
		}
		copy[n++] = text[i];
	}
	copy[n] = '\0';
	return (struct str){ copy, n };
}

static void copy_value(struct arena *arena, const json_t *from, struct jsonread *to);

static void copy_array(struct arena *arena, const json_t *from, struct jsonread *to)
{
	to->type = JSONREAD_ARRAY;
	to->count = json_array_size(from);
	to->items = arena_alloc(arena, to->count * sizeof(*to->items));
	for (size_t i = 0; i < to->count; i++)
		copy_value(arena, json_array_get(from, i), &to->items[i]);
}

static void copy_object(struct arena *arena, json_t *from, struct jsonread *to)
{
	struct member *member;
	const char *key;
	json_t *value;

	to->type = JSONREAD_OBJECT;
	to->count = json_object_size(from);
	member = to->members = arena_alloc(arena, to->count * sizeof(*to->members));
	json_object_foreach(from, key, value)
	{
		member->key = arena_str(arena, str_of(key));
		member->value = arena_alloc(arena, sizeof(*member->value));
		copy_value(arena, value, member->value);
		member++;
	}
}

/* Nesting was limited before. */
static void copy_value(struct arena *arena, const json_t *from, struct jsonread *to)
{
	switch (json_typeof(from)) {
	case JSON_NULL:
		to->type = JSONREAD_NULL;
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		to->type = JSONREAD_BOOL;
		to->truth = json_is_true(from);
		break;
	case JSON_INTEGER:
		to->type = JSONREAD_INT;
		to->integer = json_integer_value(from);
		break;
	case JSON_REAL:
		to->type = JSONREAD_REAL;
		to->real = json_real_value(from);
		break;
	case JSON_STRING:
		to->type = JSONREAD_STRING;
		to->text = copy_string(arena, json_string_value(from), json_string_length(from));
		break;
	case JSON_ARRAY:
		copy_array(arena, from, to);
		break;
	case JSON_OBJECT:
		copy_object(arena, (json_t *)from, to);
		break;
	}
}

struct jsonread *jsonread_new(struct str text, struct err *err)
{
	return jsonread_new_max(text, JSONREAD_SIZE_MAX, err);
}

struct jsonread *jsonread_new_max(struct str text, size_t max, struct err *err)
{
	owned(buf_release) struct buf prepared = { .max = 2 * max + 1 };
	struct document *document;
	json_error_t error;
	json_t *tree;

	if (text.len > max) {
		err_set(err, ERR_LIMIT, "JSON longer than %zu bytes", max);
		return NULL;
	}
	if (prepare(&prepared, text, err) < 0)
		return NULL;
	tree = json_loadb(
		prepared.data ?: "", prepared.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!tree) {
		/* What was near it may be anything; the place says enough. */
		char *near = strstr(error.text, " near '");

		if (near)
			*near = '\0';
		err_set(err, ERR_INVALID, "not JSON: %s (line %d, column %d)", error.text,
			error.line, error.column);
		return NULL;
	}
	document = mem_zalloc(sizeof(*document));
	copy_value(&document->arena, tree, &document->root);
	json_decref(tree);
	return &document->root;
}

void jsonread_free(struct jsonread *root)
{
	if (!root)
		return;
	arena_release(&((struct document *)root)->arena);
	free(root);
}

void jsonread_freep(struct jsonread **root)
{
	jsonread_free(*root);
}

/* ------------------------------------------------------------------- values */

enum jsonread_type jsonread_type(const struct jsonread *value)
{
	return value->type;
}

bool jsonread_bool(const struct jsonread *value)
{
	assert(value->type == JSONREAD_BOOL);
	return value->truth;
}

int64_t jsonread_int(const struct jsonread *value)
{
	assert(value->type == JSONREAD_INT);
	return value->integer;
}

double jsonread_real(const struct jsonread *value)
{
	assert(value->type == JSONREAD_REAL);
	return value->real;
}

struct str jsonread_str(const struct jsonread *value)
{
	assert(value->type == JSONREAD_STRING);
	return value->text;
}

size_t jsonread_count(const struct jsonread *value)
{
	return value->count;
}

const struct jsonread *jsonread_item(const struct jsonread *value, size_t index)
{
	assert(index < value->count);
	return value->type == JSONREAD_OBJECT ? value->members[index].value : &value->items[index];
}

struct str jsonread_key(const struct jsonread *object, size_t index)
{
	assert(object->type == JSONREAD_OBJECT && index < object->count);
	return object->members[index].key;
}

const struct jsonread *jsonread_member(const struct jsonread *value, const char *name)
{
	if (value->type != JSONREAD_OBJECT)
		return NULL;
	for (size_t i = 0; i < value->count; i++)
		if (str_eq(value->members[i].key, str_of(name)))
			return value->members[i].value;
	return NULL;
}

static enum jsonread_found find(const struct jsonread *object, const char *name,
	enum jsonread_type type, const struct jsonread **value)
{
	const struct jsonread *member = jsonread_member(object, name);

	if (!member)
		return JSONREAD_ABSENT;
	if (member->type == JSONREAD_NULL)
		return JSONREAD_IS_NULL;
	if (member->type != type)
		return JSONREAD_WRONG_TYPE;
	*value = member;
	return JSONREAD_FOUND;
}

enum jsonread_found jsonread_get_str(
	const struct jsonread *object, const char *name, struct str *value)
{
	const struct jsonread *member;
	enum jsonread_found found = find(object, name, JSONREAD_STRING, &member);

	if (found == JSONREAD_FOUND)
		*value = member->text;
	return found;
}

enum jsonread_found jsonread_get_int(
	const struct jsonread *object, const char *name, int64_t *value)
{
	const struct jsonread *member;
	enum jsonread_found found = find(object, name, JSONREAD_INT, &member);

	if (found == JSONREAD_FOUND)
		*value = member->integer;
	return found;
}

enum jsonread_found jsonread_get_bool(const struct jsonread *object, const char *name, bool *value)
{
	const struct jsonread *member;
	enum jsonread_found found = find(object, name, JSONREAD_BOOL, &member);

	if (found == JSONREAD_FOUND)
		*value = member->truth;
	return found;
}

enum jsonread_found jsonread_get_object(
	const struct jsonread *object, const char *name, const struct jsonread **value)
{
	return find(object, name, JSONREAD_OBJECT, value);
}

/* -------------------------------------------------------------------- parts */

static void drop(struct str *text, size_t len)
{
	text->ptr += len;
	text->len -= len;
}

static void drop_space(struct str *text)
{
	while (text->len && memchr(" \t\r\n", *text->ptr, 4))
		drop(text, 1);
}

/* Whether c comes next; it is taken. */
static bool drop_char(struct str *text, char c)
{
	drop_space(text);
	if (!text->len || *text->ptr != c)
		return false;
	drop(text, 1);
	return true;
}

/* The length of the string at the start of text, with its quotes; 0: it has no end. */
static size_t string_length(struct str text)
{
	for (size_t i = 1; i < text.len; i++) {
		if (text.ptr[i] == '"')
			return i + 1;
		if (text.ptr[i] == '\\')
			i++;
	}
	return 0;
}

/* The length of the value at the start of text; 0: it has no end, or there is none. */
static size_t value_length(struct str text)
{
	size_t i = 0, depth = 0;

	while (i < text.len) {
		char c = text.ptr[i];
		size_t step = 1;

		if (c == '"')
			step = string_length((struct str){ text.ptr + i, text.len - i });
		else if (c == '[' || c == '{')
			depth++;
		else if (depth && (c == ']' || c == '}'))
			depth--;
		else if (!depth && memchr(",]} \t\r\n", c, 7))
			return i;
		else if (!depth) { /* a number or a word: up to one of those */
			i++;
			continue;
		}
		if (!step)
			return 0;
		i += step;
		if (!depth)
			return i;
	}
	return depth ? 0 : i;
}

static int parts_bad(const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID, "not JSON: %s", what);
}

int jsonread_parts_init(struct jsonread_parts *parts, struct str text, struct err *err)
{
	*parts = (struct jsonread_parts){ .rest = text };
	parts->object = drop_char(&parts->rest, '{');
	if (!parts->object && !drop_char(&parts->rest, '['))
		return parts_bad("an object or an array is wanted", err);
	return 0;
}

static int take_key(struct str *rest, struct str *key, struct err *err)
{
	drop_space(rest);
	size_t len = rest->len && *rest->ptr == '"' ? string_length(*rest) : 0;

	if (!len)
		return parts_bad("a key is wanted", err);
	*key = (struct str){ rest->ptr + 1, len - 2 };
	drop(rest, len);
	return drop_char(rest, ':') ? 0 : parts_bad("':' is wanted behind a key", err);
}

int jsonread_parts_next(
	struct jsonread_parts *parts, struct str *key, struct str *value, struct err *err)
{
	struct str *rest = &parts->rest;

	if (drop_char(rest, parts->object ? '}' : ']')) {
		drop_space(rest);
		return rest->len ? parts_bad("something follows its end", err) : 0;
	}
	if (parts->begun && !drop_char(rest, ','))
		return parts_bad("',' or its end is wanted", err);
	parts->begun = true;
	*key = STR("");
	int rc = parts->object ? take_key(rest, key, err) : 0;
	if (rc)
		return rc;
	drop_space(rest);
	*value = (struct str){ rest->ptr, value_length(*rest) };
	if (!value->len)
		return parts_bad("a value is missing or has no end", err);
	drop(rest, value->len);
	return 1;
}

/* ------------------------------------------------------------------ writing */

static void write_all(struct json *out, const char *key, const struct jsonread *value)
{
	bool object = value->type == JSONREAD_OBJECT;

	json_open(out, key, object ? '{' : '[');
	for (size_t i = 0; i < value->count; i++)
		jsonread_write(
			out, object ? value->members[i].key.ptr : NULL, jsonread_item(value, i));
	json_close(out);
}

void jsonread_write(struct json *out, const char *key, const struct jsonread *value)
{
	switch (value->type) {
	case JSONREAD_NULL:
		json_none(out, key);
		break;
	case JSONREAD_BOOL:
		json_bool(out, key, value->truth);
		break;
	case JSONREAD_INT:
		json_int(out, key, value->integer);
		break;
	case JSONREAD_REAL:
		json_double(out, key, value->real);
		break;
	case JSONREAD_STRING:
		json_str(out, key, value->text);
		break;
	case JSONREAD_ARRAY:
	case JSONREAD_OBJECT:
		write_all(out, key, value);
		break;
	}
}

void jsonread_write_text(struct json *out, const char *key, struct str text)
{
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *value = jsonread_new(text, &ignored);

	if (value)
		jsonread_write(out, key, value);
	else
		json_str(out, key, text);
}
