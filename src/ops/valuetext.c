#include "ops/valuetext.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/text.h"
#include "core/when.h"

enum kind { KIND_PLAIN, KIND_TIME, KIND_SIZE, KIND_SPAN, KIND_MODE };

/*
 * The kind of the numbers of a member.  The name of the member is 'word', or ends with "_" or "."
 * and 'word'.
 */
static const struct {
	const char *word;
	enum kind kind;
} kinds[] = {
	{ "allocated", KIND_SIZE },
	{ "avail", KIND_SIZE },
	{ "bytes", KIND_SIZE },
	{ "creation", KIND_TIME },
	{ "free", KIND_SIZE },
	{ "mode", KIND_MODE },
	{ "mtime", KIND_TIME },
	{ "refer", KIND_SIZE },
	{ "returned", KIND_SIZE },
	{ "seconds", KIND_SPAN },
	{ "size", KIND_SIZE },
	{ "size_a", KIND_SIZE },
	{ "size_b", KIND_SIZE },
	{ "unix", KIND_TIME },
	{ "used", KIND_SIZE },
};

static enum kind kind_of(struct str name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct str word = str_of(kinds[i].word);
		size_t before = name.len - word.len;

		if (name.len >= word.len && !memcmp(name.ptr + before, word.ptr, word.len) &&
			(!before || name.ptr[before - 1] == '_' || name.ptr[before - 1] == '.'))
			return kinds[i].kind;
	}
	return KIND_PLAIN;
}

static void add_span(struct buf *out, int64_t seconds)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
	unsigned shown = 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && shown < 2; i++) {
		int64_t count = seconds / units[i].seconds;

		if (!count && !(i == 3 && !shown))
			continue;
		buf_addf(out, "%s%" PRId64 " %s", shown++ ? " " : "", count, units[i].unit);
		seconds %= units[i].seconds;
	}
}

static void add_int(struct buf *out, struct str name, int64_t number)
{
	enum kind kind = kind_of(name);
	char text[40];

	if (kind == KIND_TIME && number <= WHEN_LAST / WHEN_SECOND &&
		number >= WHEN_FIRST / WHEN_SECOND)
		buf_adds(out, when_local(number * WHEN_SECOND, text));
	else if (kind == KIND_SIZE && number >= 0)
		buf_adds(out, text_size((uint64_t)number, text));
	else if (kind == KIND_SPAN && number >= 0)
		add_span(out, number);
	else if (kind == KIND_MODE)
		buf_addf(out, "%04" PRIo64, number);
	else
		buf_addf(out, "%" PRId64, number);
}

static void add_list(struct buf *out, struct str name, const struct jsonread *list)
{
	size_t n = jsonread_count(list);

	if (n && jsonread_type(jsonread_item(list, 0)) >= JSONREAD_ARRAY) {
		buf_addf(out, "%zu", n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_adds(out, ", ");
		valuetext_add(out, name, jsonread_item(list, i));
	}
}

void valuetext_add(struct buf *out, struct str name, const struct jsonread *value)
{
	switch (jsonread_type(value)) {
	case JSONREAD_NULL:
		buf_adds(out, "-");
		return;
	case JSONREAD_BOOL:
		buf_adds(out, jsonread_bool(value) ? "yes" : "no");
		return;
	case JSONREAD_INT:
		add_int(out, name, jsonread_int(value));
		return;
	case JSONREAD_REAL:
		buf_addf(out, "%g", jsonread_real(value));
		return;
	case JSONREAD_STRING:
		text_quote(out, jsonread_str(value));
		return;
	case JSONREAD_ARRAY:
		add_list(out, name, value);
		return;
	case JSONREAD_OBJECT:
		return;
	}
}

bool valuetext_is_number(struct str name, const struct jsonread *value)
{
	enum jsonread_type type = jsonread_type(value);

	return type == JSONREAD_REAL || (type == JSONREAD_INT && kind_of(name) != KIND_TIME);
}

bool valuetext_is_empty(const struct jsonread *value)
{
	enum jsonread_type type = jsonread_type(value);

	return type == JSONREAD_NULL || (type == JSONREAD_ARRAY && !jsonread_count(value)) ||
	       (type == JSONREAD_STRING && !jsonread_str(value).len);
}

size_t valuetext_width(struct str text)
{
	size_t width = 0;

	/*
	 * Count the bytes that begin a character.  All other bytes continue a character of UTF-8.
	 */
	for (size_t i = 0; i < text.len; i++)
		width += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return width;
}
