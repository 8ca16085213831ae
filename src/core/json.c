#include "core/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"

/*
 * The buffer is passed to the sink when it has this many bytes.  This size is so large that the
 * sink's system calls take little of the time, and so small that the buffer stays in the
 * processor's cache.
 */
#define DRAIN_AT ((size_t)64 << 10)

#define SPACES_32 "                                "
_Static_assert(JSON_DEPTH_MAX == 64, "new_line has as many spaces");

void json_release(struct json *json)
{
	buf_release(&json->out);
}

/*
 * Pass the content of the buffer 'out' to the sink, as the next part of the document.  Then empty
 * the buffer.
 */
static void drain_buffer(struct json *json, struct buf *out)
{
	/*
	 * If one large value has overflowed the buffer, bytes are missing, and the document is not
	 * valid JSON.
	 */
	if (out->overflowed)
		json->failed = true;
	if (!json->failed && out->len && json->sink(json->arg, out->data, out->len) < 0)
		json->failed = true;
	buf_clear(out);
}

static void new_line(struct json *json)
{
	static const char indent[1 + 2 * JSON_DEPTH_MAX + 1] =
		"\n" SPACES_32 SPACES_32 SPACES_32 SPACES_32;

	if (json->pretty)
		buf_add(&json->out, indent, (size_t)(1 + 2 * json->depth));
}

/* Write everything that comes before a value: the comma, the line break and the key. */
static void begin_value(struct json *json, const char *key)
{
	bool in_object = json->depth && json->closer[json->depth] == '}';

	assert(in_object == (key != NULL));
	assert(json->depth || !json->comma[0]); /* json_end must come before a second document */
	if (json->comma[json->depth])
		buf_addc(&json->out, ',');
	json->comma[json->depth] = true;
	if (json->depth)
		new_line(json);
	if (key) {
		json_quote(&json->out, str_of(key));
		buf_addc(&json->out, ':');
		if (json->pretty)
			buf_addc(&json->out, ' ');
	}
}

static void drain_when_full(struct json *json)
{
	if (json->sink && json->out.len > DRAIN_AT)
		drain_buffer(json, &json->out);
}

void json_open(struct json *json, const char *key, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	assert(json->depth < JSON_DEPTH_MAX);
	begin_value(json, key);
	json->depth++;
	json->opened[json->depth] = json->out.len;
	buf_addc(&json->out, bracket);
	json->comma[json->depth] = false;
	json->closer[json->depth] = bracket == '{' ? '}' : ']';
	drain_when_full(json);
}

void json_close(struct json *json)
{
	assert(json->depth > 0);
	char closer = json->closer[json->depth];
	bool empty = !json->comma[json->depth];

	json->depth--;
	if (!empty)
		new_line(json);
	buf_addc(&json->out, closer);
	drain_when_full(json);
}

void json_str(struct json *json, const char *key, struct str text)
{
	begin_value(json, key);
	json_quote(&json->out, text);
	drain_when_full(json);
}

void json_text(struct json *json, const char *key, const char *text)
{
	if (text)
		json_str(json, key, str_of(text));
	else
		json_none(json, key);
}

/*
 * Append a number in decimal.  With printf, a document of numbers would take much longer to write.
 */
static void add_digits(struct buf *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_add(out, digits + at, sizeof(digits) - at);
}

void json_int(struct json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	if (value < 0)
		buf_addc(&json->out, '-');
	add_digits(&json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
	drain_when_full(json);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	add_digits(&json->out, value);
	drain_when_full(json);
}

void json_double(struct json *json, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_none(json, key);
		return;
	}
	/* Use the fewest digits that are read as the same number: 0.1, not 0.10000000000000001. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	begin_value(json, key);
	buf_adds(&json->out, text);
	/* Readers with typed numbers must not take 2.0 for an integer. */
	if (!strpbrk(text, ".e"))
		buf_adds(&json->out, ".0");
	drain_when_full(json);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	buf_adds(&json->out, value ? "true" : "false");
	drain_when_full(json);
}

void json_none(struct json *json, const char *key)
{
	begin_value(json, key);
	buf_adds(&json->out, "null");
	drain_when_full(json);
}

void json_number(struct json *json, const char *key, bool known, int64_t number)
{
	if (known)
		json_int(json, key, number);
	else
		json_none(json, key);
}

void json_texts(struct json *json, const char *key, const char *const *texts, size_t n)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		json_text(json, NULL, texts[i]);
	json_close(json);
}

void json_strs(struct json *json, const char *key, const struct str *list, size_t n)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		json_str(json, NULL, list[i]);
	json_close(json);
}

void json_bits(struct json *json, const char *key, unsigned bits, unsigned n,
	const char *(*name)(unsigned bit))
{
	json_open(json, key, '[');
	for (unsigned i = 0; i < n; i++)
		if (bits & 1u << i)
			json_text(json, NULL, name(1u << i));
	json_close(json);
}

void json_again(struct json *json, const char *key)
{
	struct buf *out = &json->out;
	size_t from = json->opened[json->depth + 1], len = out->len - from;

	assert(!json->sink);
	begin_value(json, key);
	json->opened[json->depth + 1] = out->len;
	char *room = buf_reserve(out, len);
	if (!room)
		return;
	memcpy(room, out->data + from, len);
	out->len += len;
	out->data[out->len] = '\0';
}

void json_members(struct json *json, struct str members)
{
	if (json->comma[json->depth])
		buf_addc(&json->out, ',');
	json->comma[json->depth] = true;
	buf_add(&json->out, members.ptr, members.len);
	drain_when_full(json);
}

struct json_mark json_mark(const struct json *json)
{
	return (struct json_mark){ json->out.len, json->depth, json->comma[json->depth] };
}

void json_rewind(struct json *json, struct json_mark mark)
{
	buf_truncate(&json->out, mark.len);
	json->depth = mark.depth;
	json->comma[mark.depth] = mark.comma;
}

struct str json_since(const struct json *json, struct json_mark mark)
{
	return (struct str){ json->out.data + mark.len, json->out.len - mark.len };
}

struct str json_written(const struct json *json)
{
	return (struct str){ json->out.data, json->out.len };
}

int json_end(struct json *json)
{
	assert(json->depth == 0);
	buf_addc(&json->out, '\n');
	json->comma[0] = false;
	if (json->sink)
		drain_buffer(json, &json->out);
	else if (json->out.overflowed)
		json->failed = true;
	return json->failed ? -1 : 0;
}

void json_part(struct json *part, const struct json *whole, bool first)
{
	assert(whole->depth && whole->closer[whole->depth] == ']');
	part->depth = whole->depth;
	part->pretty = whole->pretty;
	part->closer[part->depth] = ']';
	part->comma[part->depth] = !first;
}

void json_add_part(struct json *whole, struct json *part)
{
	struct buf *out = &part->out;

	assert(part->depth == whole->depth && !part->sink);
	whole->failed |= out->overflowed;
	whole->comma[whole->depth] |= out->len > 0;
	if (whole->sink && out->len > DRAIN_AT) {
		drain_buffer(whole, &whole->out);
		drain_buffer(whole, out);
		return;
	}
	buf_add(&whole->out, out->data, out->len);
	buf_clear(out);
	drain_when_full(whole);
}

/*
 * Append the escape for a byte.  If 'valid' is set, 'byte' is the code of a character that must not
 * be written raw.  Otherwise 'byte' belongs to no valid UTF-8 sequence.
 */
static void add_escape(struct buf *out, unsigned char byte, bool valid)
{
	static const char letters[][2] = {
		{ '"', '"' },
		{ '\\', '\\' },
		{ '\b', 'b' },
		{ '\f', 'f' },
		{ '\n', 'n' },
		{ '\r', 'r' },
		{ '\t', 't' },
	};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (byte == (unsigned char)letters[i][0]) {
			buf_addf(out, "\\%c", letters[i][1]);
			return;
		}
	}
	buf_addf(out, valid ? "\\u00%02x" : "\\udc%02x", byte);
}

/* Whether c is an ASCII character that needs no escape. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Whether each of eight bytes is plain. */
static bool are_plain(const char *bytes)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7;
	uint64_t word, quote, slash, last;

	memcpy(&word, bytes, sizeof(word));
	quote = word ^ ones * '"';
	slash = word ^ ones * '\\';
	last = word ^ ones * 0x7f;
	/*
	 * If a byte is smaller than the byte that is subtracted from it, the subtraction sets the
	 * top bit of the byte.
	 */
	return !((word | (word - ones * 0x20) | (quote - ones) | (slash - ones) | (last - ones)) &
		 high);
}

static bool is_all_plain(struct str text)
{
	size_t i = 0;

	for (; i + sizeof(uint64_t) <= text.len; i += sizeof(uint64_t))
		if (!are_plain(text.ptr + i))
			return false;
	while (i < text.len && is_plain((unsigned char)text.ptr[i]))
		i++;
	return i == text.len;
}

static void quote_plain(struct buf *out, struct str text)
{
	char *room = buf_reserve(out, text.len + 2);

	if (!room)
		return;
	room[0] = '"';
	memcpy(room + 1, text.ptr, text.len);
	room[text.len + 1] = '"';
	room[text.len + 2] = '\0';
	out->len += text.len + 2;
}

void json_quote(struct buf *out, struct str text)
{
	size_t copied = 0, i = 0;

	if (text.len && is_all_plain(text)) {
		quote_plain(out, text);
		return;
	}
	buf_addc(out, '"');
	while (i < text.len) {
		unsigned char c = (unsigned char)text.ptr[i];
		size_t len = 1;

		if (is_plain(c)) {
			i++;
			continue;
		}
		if (c >= 0x80) {
			len = text_utf8_length((struct str){ text.ptr + i, text.len - i });
			/*
			 * U+0080..U+009F are escaped, since they are control characters that a
			 * terminal may act on.
			 */
			if (len > 1 && !(c == 0xc2 && (unsigned char)text.ptr[i + 1] < 0xa0)) {
				i += len;
				continue;
			}
			if (len > 1)
				c = (unsigned char)text.ptr[i + 1];
		}
		buf_add(out, text.ptr + copied, i - copied);
		add_escape(out, c, len > 0);
		i += len ? len : 1;
		copied = i;
	}
	if (i > copied)
		buf_add(out, text.ptr + copied, i - copied);
	buf_addc(out, '"');
}
