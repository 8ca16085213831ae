#include "core/toml.h"

#include <stdint.h>
#include <stdio.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

int toml_at(struct toml_place place, struct err *err)
{
	size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, " (line %zu, column %zu)", place.line,
		place.column);
	return -(int)err->code;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = { [TOML_TEXT] = "a string",
		[TOML_BOOL] = "true or false",
		[TOML_NUMBER] = "a number",
		[TOML_LIST] = "a list" };

	return names[type];
}

int toml_init(struct toml *toml, struct str text, struct arena *arena, struct err *err)
{
	if (text.len > TOML_SIZE_MAX)
		return err_set(err, ERR_LIMIT, "longer than %zu bytes", TOML_SIZE_MAX);
	*toml = (struct toml){ .rest = text, .line_start = text.ptr, .line = 1, .arena = arena };
	return 0;
}

static struct toml_place here(const struct toml *toml)
{
	return (struct toml_place){ toml->line, (size_t)(toml->rest.ptr - toml->line_start) + 1 };
}

static int refuse(const struct toml *toml, const char *why, struct err *err)
{
	err_set(err, ERR_INVALID, "%s", why);
	return toml_at(here(toml), err);
}

/* The next byte; -1 at the end. */
static int peek(const struct toml *toml)
{
	return toml->rest.len ? (unsigned char)*toml->rest.ptr : -1;
}

static void skip(struct toml *toml, size_t n)
{
	toml->rest.ptr += n;
	toml->rest.len -= n;
}

static bool take(struct toml *toml, char c)
{
	if (peek(toml) != (unsigned char)c)
		return false;
	skip(toml, 1);
	return true;
}

static void skip_blanks(struct toml *toml)
{
	while (peek(toml) == ' ' || peek(toml) == '\t')
		skip(toml, 1);
}

static bool is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* Take a line break.  A carriage return alone is no line break. */
static bool take_line_break(struct toml *toml)
{
	size_t n = peek(toml) == '\n' ? 1 : str_starts(toml->rest, STR("\r\n")) ? 2 : 0;

	if (!n)
		return false;
	skip(toml, n);
	toml->line++;
	toml->line_start = toml->rest.ptr;
	return true;
}

/*
 * The length of the character at the start of the text; 0 if the character is not allowed in
 * strings and comments.
 */
static size_t character(struct str text)
{
	unsigned char c = text.len ? (unsigned char)*text.ptr : 0;

	if ((c < 0x20 && c != '\t') || c == 0x7f)
		return 0;
	return text_utf8_length(text);
}

/* Skip blanks and a comment, up to the end of the line or of the text. */
static int skip_to_line_end(struct toml *toml, struct err *err)
{
	skip_blanks(toml);
	if (!take(toml, '#'))
		return 0;
	for (size_t n; (n = character(toml->rest));)
		skip(toml, n);
	if (toml->rest.len && peek(toml) != '\n' && !str_starts(toml->rest, STR("\r\n")))
		return refuse(toml, "a control character or bytes that are not UTF-8", err);
	return 0;
}

static int expect_line_end(struct toml *toml, struct err *err)
{
	int r = skip_to_line_end(toml, err);

	if (r < 0 || !toml->rest.len || take_line_break(toml))
		return r;
	return refuse(toml, "a line break is missing", err);
}

/* Read the digits of \u or \U. */
static int read_code(struct toml *toml, size_t digits, struct buf *out, struct err *err)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		int value = i < toml->rest.len ? text_hex_value(toml->rest.ptr[i]) : -1;

		if (value < 0)
			return refuse(toml, "hexadecimal digits are missing after the '\\'", err);
		code = code << 4 | (uint32_t)value;
	}
	if (!code || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return refuse(toml, "no character has this number", err);
	text_utf8_add(out, code);
	skip(toml, digits);
	return 0;
}

static int read_escape(struct toml *toml, struct buf *out, struct err *err)
{
	static const char letters[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	int c = peek(toml);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;

	if (c == 'u' || c == 'U') {
		skip(toml, 1);
		return read_code(toml, c == 'u' ? 4 : 8, out, err);
	}
	if (!letter)
		return refuse(toml, "an unknown escape; a backslash itself is written '\\\\'", err);
	buf_addc(out, values[letter - letters]);
	skip(toml, 1);
	return 0;
}

/* Read the string that begins here with this quote. */
static int read_string(struct toml *toml, char quote, struct str *text, struct err *err)
{
	owned(buf_release) struct buf out = BUF_INIT;

	skip(toml, 1);
	if (toml->rest.len >= 2 && toml->rest.ptr[0] == quote && toml->rest.ptr[1] == quote)
		return refuse(toml, "a string on several lines, which cannot be used here", err);
	while (!take(toml, quote)) {
		size_t n = character(toml->rest);

		if (!toml->rest.len || peek(toml) == '\n' || peek(toml) == '\r')
			return refuse(toml, "the string does not end on its line", err);
		if (!n)
			return refuse(toml, "a control character or bytes that are not UTF-8", err);
		if (quote == '"' && take(toml, '\\')) {
			int r = read_escape(toml, &out, err);

			if (r < 0)
				return r;
			continue;
		}
		buf_add(&out, toml->rest.ptr, n);
		skip(toml, n);
	}
	*text = arena_str(toml->arena, (struct str){ out.data ? out.data : "", out.len });
	return 0;
}

static int read_name(struct toml *toml, struct str *name, struct err *err)
{
	size_t n = 0;

	if (peek(toml) == '"' || peek(toml) == '\'')
		return read_string(toml, *toml->rest.ptr, name, err);
	while (n < toml->rest.len && is_bare((unsigned char)toml->rest.ptr[n]))
		n++;
	if (!n)
		return refuse(toml,
			"a name is missing; only letters, digits, '_' and '-' need no quotes", err);
	*name = arena_str(toml->arena, (struct str){ toml->rest.ptr, n });
	skip(toml, n);
	return 0;
}

static int read_names(struct toml *toml, struct toml_item *item, struct err *err)
{
	do {
		skip_blanks(toml);
		if (item->n_names == TOML_NAMES_MAX)
			return refuse(toml, "too many names with dots between them", err);
		int r = read_name(toml, &item->names[item->n_names++], err);

		if (r < 0)
			return r;
		skip_blanks(toml);
	} while (take(toml, '.'));
	return 0;
}

/* Read a word without quotes: true, false, or a number or date. */
static int read_word(struct toml *toml, struct toml_value *value, struct err *err)
{
	size_t n = 0;

	while (n < toml->rest.len &&
		(is_bare((unsigned char)toml->rest.ptr[n]) || memchr("+.:", toml->rest.ptr[n], 3)))
		n++;
	struct str word = { toml->rest.ptr, n };

	if (str_eq(word, STR("true")) || str_eq(word, STR("false"))) {
		value->type = TOML_BOOL;
		value->truth = n == 4;
	} else if (n && (memchr("+-0123456789", *word.ptr, 12) || str_eq(word, STR("inf")) ||
				str_eq(word, STR("nan")))) {
		value->type = TOML_NUMBER;
		value->text = arena_str(toml->arena, word);
	} else if (n) {
		return refuse(toml, "a text needs quotes", err);
	} else {
		return refuse(toml, "a value is missing", err);
	}
	skip(toml, n);
	return 0;
}

/* Skip blanks, comments and line breaks. */
static int skip_empty(struct toml *toml, struct err *err)
{
	int r;

	do {
		r = skip_to_line_end(toml, err);
	} while (r >= 0 && take_line_break(toml));
	return r;
}

static int read_value(struct toml *toml, struct toml_value *value, int depth, struct err *err);

static int read_list(struct toml *toml, struct toml_value *value, int depth, struct err *err)
{
	owned_mem struct toml_value *items = NULL;
	size_t cap = 0;
	int r = 0;

	value->type = TOML_LIST;
	if (depth == TOML_DEPTH_MAX)
		return refuse(toml, "too many lists inside each other", err);
	skip(toml, 1);
	for (;;) {
		r = skip_empty(toml, err);
		if (r < 0)
			return r;
		if (take(toml, ']'))
			break;
		if (value->count == TOML_ITEMS_MAX)
			return refuse(toml, "the list has too many values", err);
		mem_grow(&items, &cap, value->count);
		r = read_value(toml, &items[value->count++], depth + 1, err);
		if (r >= 0)
			r = skip_empty(toml, err);
		if (r < 0)
			return r;
		if (!take(toml, ',') && peek(toml) != ']')
			return refuse(toml, "a ',' or the ']' of the list is missing", err);
	}
	struct toml_value *copy = arena_alloc(toml->arena, (value->count + 1) * sizeof(*copy));

	if (value->count)
		memcpy(copy, items, value->count * sizeof(*copy));
	value->items = copy;
	return 0;
}

static int read_value(struct toml *toml, struct toml_value *value, int depth, struct err *err)
{
	int c = peek(toml);

	*value = (struct toml_value){ .type = TOML_TEXT, .place = here(toml) };
	if (c == '"' || c == '\'')
		return read_string(toml, (char)c, &value->text, err);
	if (c == '[')
		return read_list(toml, value, depth, err);
	if (c == '{')
		return refuse(
			toml, "an inline table, which cannot be used here; write a [table]", err);
	return read_word(toml, value, err);
}

static int read_header(struct toml *toml, struct toml_item *item, struct err *err)
{
	item->is_header = true;
	skip(toml, 1);
	if (peek(toml) == '[')
		return refuse(toml, "a list of tables, which cannot be used here", err);
	int r = read_names(toml, item, err);

	if (r >= 0 && !take(toml, ']'))
		r = refuse(toml, "the ']' of the header is missing", err);
	return r;
}

static int read_key(struct toml *toml, struct toml_item *item, struct err *err)
{
	int r = read_names(toml, item, err);

	if (r >= 0 && !take(toml, '='))
		r = refuse(toml, "a '=' is missing after the key", err);
	if (r < 0)
		return r;
	skip_blanks(toml);
	return read_value(toml, &item->value, 0, err);
}

int toml_next(struct toml *toml, struct toml_item *item, struct err *err)
{
	int r = skip_empty(toml, err);

	if (r < 0 || !toml->rest.len)
		return r;
	*item = (struct toml_item){ .place = here(toml) };
	r = peek(toml) == '[' ? read_header(toml, item, err) : read_key(toml, item, err);
	if (r >= 0)
		r = expect_line_end(toml, err);
	return r < 0 ? r : 1;
}
