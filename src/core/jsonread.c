#include "core/jsonread.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

struct jsonread {
	enum jsonread_type type : 8;
	bool repeated : 1;
	/* offset of the key in the text, or of the value if the member has no key */
	uint32_t begin;
	size_t count;
	union {
		bool truth;
		int64_t integer;
		double real;
		struct str text;
		struct member *members; /* an array's items have no keys */
	};
};

struct member {
	struct str key;
	struct jsonread value;
};

struct document {
	struct jsonread root; /* first, so that a pointer to it also points to the document */
	struct arena arena;
};

enum parser_flags {
	NEAREST = 1 << 0, /* as in jsonread_new_nearest */
	LENIENT = 1 << 1, /* as in jsonread_new_lenient */
};

struct parser {
	const char *start, *at, *end;
	int depth;
	unsigned flags; /* enum parser_flags */
	struct arena *arena;
	struct err *err;
};

/* ------------------------------------------------------------------ strings */

static struct jsonread_place place_of(const char *start, const char *at)
{
	struct jsonread_place place = { 1, 1 };

	for (const char *c = start; c < at; c++) {
		place.column = *c == '\n' ? 1 : place.column + 1;
		place.line += *c == '\n';
	}
	return place;
}

static int parser_fail(const struct parser *parser, const char *why)
{
	struct jsonread_place place = place_of(parser->start, parser->at);

	return err_set(parser->err, ERR_INVALID, "not JSON: %s (line %zu, column %zu)", why,
		place.line, place.column);
}

static struct str rest_of(const struct parser *parser)
{
	return (struct str){ parser->at, (size_t)(parser->end - parser->at) };
}

/*
 * The length of the string at the start of a text, with both quotes, or 0 if the string has no end.
 */
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

/* The code unit of the "\uXXXX" at the start of text, or -1. */
static int escaped_unit(struct str text)
{
	int unit = 0;

	if (text.len < 6 || text.ptr[0] != '\\' || text.ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = text_hex_value(text.ptr[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/*
 * Decode the escape "\uXXXX" at parser->at, or the two escapes of a surrogate pair, into 'out'.
 * Returns the end of the decoded bytes, or NULL if there is no valid escape.
 */
static char *parse_unit(struct parser *parser, char *out)
{
	struct str text = rest_of(parser);
	int unit = escaped_unit(text);

	if (unit < 0)
		return NULL;
	if (unit >= 0xdc80 && unit <= 0xdcff) {
		*out = (char)(unit & 0xff);
		parser->at += 6;
		return out + 1;
	}
	if (unit < 0xd800 || unit > 0xdfff) {
		parser->at += 6;
		return out + text_utf8_encode(out, (uint32_t)unit);
	}
	int low = escaped_unit((struct str){ text.ptr + 6, text.len - 6 });
	bool pair = unit <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;

	if (!pair && !(parser->flags & LENIENT))
		return NULL;
	parser->at += pair ? 12 : 6;
	uint32_t code = (uint32_t)unit;
	if (pair)
		code = 0x10000 + ((code & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
	return out + text_utf8_encode(out, code);
}

static char *parse_escape(struct parser *parser, char *out)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter = memchr(letters, parser->at[1], sizeof(letters) - 1);

	if (!letter)
		return parse_unit(parser, out);
	*out = meant[letter - letters];
	parser->at += 2;
	return out + 1;
}

static int parse_string(struct parser *parser, struct str *string)
{
	size_t len = string_length(rest_of(parser));

	if (!len)
		return parser_fail(parser, "a string has no end");
	/* An escape is at least as long as the bytes it stands for, so len bytes are enough. */
	char *bytes = arena_alloc(parser->arena, len), *out = bytes;
	const char *end = parser->at + len - 1;
	for (parser->at++; parser->at < end;) {
		size_t step = text_utf8_length(rest_of(parser));

		if ((unsigned char)*parser->at < 0x20)
			return parser_fail(parser, "a string has a control character");
		if (!step)
			return parser_fail(parser, "a string is not UTF-8");
		if (*parser->at == '\\') {
			out = parse_escape(parser, out);
			if (!out)
				return parser_fail(parser,
					"a string has an unknown escape or half a surrogate pair");
			continue;
		}
		memcpy(out, parser->at, step);
		out += step;
		parser->at += step;
	}
	parser->at++;
	*string = (struct str){ bytes, (size_t)(out - bytes) };
	return 0;
}

/* ------------------------------------------------------------ other scalars */

/*
 * Whether text is a JSON number.  If so, *real tells whether the number has a fraction or an
 * exponent.
 */
static bool is_number(const char *text, bool *real)
{
	static const char digits[] = "0123456789";

	text += *text == '-';
	size_t n = strspn(text, digits);
	if (!n || (n > 1 && *text == '0'))
		return false;
	text += n;
	*real = *text != '\0';
	if (*text == '.') {
		n = strspn(++text, digits);
		text += n;
	}
	if (n && (*text == 'e' || *text == 'E')) {
		text++;
		text += *text == '+' || *text == '-';
		n = strspn(text, digits);
		text += n;
	}
	return n && !*text;
}

static int parse_number(struct parser *parser, struct jsonread *value)
{
	struct str rest = rest_of(parser);
	size_t len = 0;
	bool real;

	while (len < rest.len && memchr("+-.0123456789Ee", rest.ptr[len], 15))
		len++;
	const char *text = arena_str(parser->arena, (struct str){ rest.ptr, len }).ptr;
	if (!is_number(text, &real))
		return parser_fail(parser, "no value, or a number that is malformed");
	errno = 0;
	value->type = real ? JSONREAD_REAL : JSONREAD_INT;
	if (real)
		value->real = strtod(text, NULL);
	else
		value->integer = strtoll(text, NULL, 10);
	/* A number that is too close to zero is read as the nearest double. */
	bool large = errno == ERANGE && (!real || isinf(value->real));
	if (large && !(parser->flags & NEAREST && len <= JSONREAD_NEAREST_MAX))
		return parser_fail(parser, "a number is too large");
	if (large && real)
		value->real = value->real > 0 ? DBL_MAX : -DBL_MAX;
	parser->at += len;
	return 0;
}

static bool parse_word(struct parser *parser, struct jsonread *value)
{
	static const struct {
		struct str word;
		struct jsonread value;
	} words[] = {
		{ STR("null"), { .type = JSONREAD_NULL } },
		{ STR("true"), { .type = JSONREAD_BOOL, .truth = true } },
		{ STR("false"), { .type = JSONREAD_BOOL } },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_starts(rest_of(parser), words[i].word)) {
			*value = words[i].value;
			parser->at += words[i].word.len;
			return true;
		}
	return false;
}

/* --------------------------------------------------------------- containers */

/* Skip white space.  Returns the next character without consuming it, or NUL at the end. */
static char next_char(struct parser *parser)
{
	while (parser->at < parser->end && memchr(" \t\r\n", *parser->at, 4))
		parser->at++;
	return parser->at < parser->end ? *parser->at : '\0';
}

static int parse_value(struct parser *parser, struct jsonread *value);

static int compare_members(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;
	int order = str_cmp((*x)->key, (*y)->key);

	return order ? order : (*x > *y) - (*x < *y);
}

/*
 * If several members have the same key, only the last one counts.  Mark that member as repeated,
 * and drop the others.  Returns the number of members that are left.
 */
static size_t drop_repeated(struct member *members, size_t n)
{
	owned_mem struct member **sorted = mem_alloc((n + 1) * sizeof(*sorted));
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &members[i];
	qsort(sorted, n, sizeof(*sorted), compare_members);
	for (size_t i = 0; i + 1 < n; i++)
		if (str_eq(sorted[i]->key, sorted[i + 1]->key)) {
			sorted[i + 1]->value.repeated = true;
			sorted[i]->key.ptr = NULL;
		}
	for (size_t i = 0; i < n; i++)
		if (members[i].key.ptr)
			members[kept++] = members[i];
	return kept;
}

static int parse_key(struct parser *parser, struct str *key)
{
	if (next_char(parser) != '"')
		return parser_fail(parser, "a key in double quotes is missing");
	int r = parse_string(parser, key);
	if (r < 0)
		return r;
	if (!(parser->flags & LENIENT) && (memchr(key->ptr, '\0', key->len) || !text_is_utf8(*key)))
		return parser_fail(parser, "a key is not UTF-8, or has a NUL");
	if (next_char(parser) != ':')
		return parser_fail(parser, "':' is missing after a key");
	parser->at++;
	return 0;
}

static int parse_member(struct parser *parser, bool object, struct member *member)
{
	next_char(parser);
	size_t begin = (size_t)(parser->at - parser->start);
	int r = object ? parse_key(parser, &member->key) : 0;

	if (r >= 0)
		r = parse_value(parser, &member->value);
	member->value.begin = (uint32_t)begin;
	return r;
}

static int parse_container(struct parser *parser, struct jsonread *value, bool object)
{
	owned_mem struct member *members = NULL;
	size_t n = 0, cap = 0;
	char c;

	if (++parser->depth > JSONREAD_DEPTH_MAX)
		return err_set(parser->err, ERR_LIMIT, "JSON nested more than %d deep",
			JSONREAD_DEPTH_MAX);
	parser->at++;
	while ((c = next_char(parser)) != (object ? '}' : ']')) {
		if (n && c != ',')
			return parser_fail(
				parser, object ? "',' or '}' is missing" : "',' or ']' is missing");
		parser->at += n != 0;
		mem_grow(&members, &cap, n);
		members[n] = (struct member){ 0 };
		int r = parse_member(parser, object, &members[n++]);
		if (r < 0)
			return r;
	}
	parser->at++;
	parser->depth--;
	value->type = object ? JSONREAD_OBJECT : JSONREAD_ARRAY;
	value->count = object && n > 1 ? drop_repeated(members, n) : n;
	value->members = arena_alloc(parser->arena, n * sizeof(*members));
	if (n)
		memcpy(value->members, members, value->count * sizeof(*members));
	return 0;
}

static int parse_value(struct parser *parser, struct jsonread *value)
{
	char c = next_char(parser);

	if (c == '{' || c == '[')
		return parse_container(parser, value, c == '{');
	if (c == '"') {
		value->type = JSONREAD_STRING;
		return parse_string(parser, &value->text);
	}
	return parse_word(parser, value) ? 0 : parse_number(parser, value);
}

static struct jsonread *new_document(struct str text, size_t max, unsigned flags, struct err *err)
{
	if (text.len > max) {
		err_set(err, ERR_LIMIT, "JSON longer than %zu bytes", max);
		return NULL;
	}
	struct document *document = mem_zalloc(sizeof(*document));
	const char *start = text.len ? text.ptr : "";
	struct parser parser = {
		.start = start,
		.at = start,
		.end = start + text.len,
		.flags = flags,
		.arena = &document->arena,
		.err = err,
	};
	int r = parse_value(&parser, &document->root);

	next_char(&parser);
	if (r >= 0 && parser.at < parser.end)
		r = parser_fail(&parser, "something follows the value");
	if (r < 0) {
		jsonread_free(&document->root);
		return NULL;
	}
	return &document->root;
}

struct jsonread *jsonread_new(struct str text, struct err *err)
{
	return new_document(text, JSONREAD_SIZE_MAX, 0, err);
}

struct jsonread *jsonread_new_max(struct str text, size_t max, struct err *err)
{
	return new_document(text, max, 0, err);
}

struct jsonread *jsonread_new_nearest(struct str text, struct err *err)
{
	return new_document(text, JSONREAD_SIZE_MAX, NEAREST, err);
}

struct jsonread *jsonread_new_lenient(struct str text, struct err *err)
{
	return new_document(text, JSONREAD_SIZE_MAX, NEAREST | LENIENT, err);
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

bool jsonread_is_repeated(const struct jsonread *member)
{
	return member->repeated;
}

struct jsonread_place jsonread_place(const struct jsonread *value, struct str text)
{
	size_t begin = value->begin < text.len ? value->begin : text.len;

	return place_of(text.ptr, text.ptr + begin);
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
	return &value->members[index].value;
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
			return &value->members[i].value;
	return NULL;
}

static enum jsonread_found find_member(const struct jsonread *object, const char *name,
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
	enum jsonread_found found = find_member(object, name, JSONREAD_STRING, &member);

	if (found == JSONREAD_FOUND)
		*value = member->text;
	return found;
}

enum jsonread_found jsonread_get_int(
	const struct jsonread *object, const char *name, int64_t *value)
{
	const struct jsonread *member;
	enum jsonread_found found = find_member(object, name, JSONREAD_INT, &member);

	if (found == JSONREAD_FOUND)
		*value = member->integer;
	return found;
}

enum jsonread_found jsonread_get_bool(const struct jsonread *object, const char *name, bool *value)
{
	const struct jsonread *member;
	enum jsonread_found found = find_member(object, name, JSONREAD_BOOL, &member);

	if (found == JSONREAD_FOUND)
		*value = member->truth;
	return found;
}

enum jsonread_found jsonread_get_object(
	const struct jsonread *object, const char *name, const struct jsonread **value)
{
	return find_member(object, name, JSONREAD_OBJECT, value);
}

/* -------------------------------------------------------------------- parts */

static void drop_bytes(struct str *text, size_t len)
{
	text->ptr += len;
	text->len -= len;
}

static void drop_space(struct str *text)
{
	while (text->len && memchr(" \t\r\n", *text->ptr, 4))
		drop_bytes(text, 1);
}

/* Skip white space.  If c comes next, consume it and return true. */
static bool drop_char(struct str *text, char c)
{
	drop_space(text);
	if (!text->len || *text->ptr != c)
		return false;
	drop_bytes(text, 1);
	return true;
}

/* The length of the value at the start of a text, or 0 if no whole value is there. */
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
		else if (!depth) { /* only the characters listed above end a number or a word */
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
	drop_bytes(rest, len);
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
	drop_bytes(rest, value->len);
	return 1;
}

struct str jsonread_raw(const struct jsonread *member, struct str text)
{
	size_t begin = member->begin < text.len ? member->begin : text.len;
	struct str rest = { text.ptr + begin, text.len - begin };
	size_t key = rest.len && *rest.ptr == '"' ? string_length(rest) : 0;

	drop_bytes(&rest, key);
	(void)drop_char(&rest, ':');
	drop_space(&rest);
	return (struct str){ rest.ptr, value_length(rest) };
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

char *jsonread_text(const struct jsonread *value)
{
	owned(json_release) struct json out = JSON_INIT;

	jsonread_write(&out, NULL, value);
	return mem_strdup(json_written(&out).ptr);
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
