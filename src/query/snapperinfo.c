#include "query/snapperinfo.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"

#define DEPTH_MAX 8      /* nesting of elements; snapper's own file has 3 levels */
#define REFERENCE_MAX 12 /* bytes of a character reference */
#define DESCRIPTION_MAX 4096

struct reading {
	struct str rest;
	struct str open[DEPTH_MAX]; /* the names of the open elements */
	unsigned depth;
	bool done;       /* the outermost element is closed */
	struct buf text; /* text of the element at depth 2 */
	struct arena *arena;
	struct snapperinfo *info;
};

/*
 * Take everything up to and including 'end' from the rest.  Returns false if the rest does not
 * contain 'end'.
 */
static bool take_until(struct str *rest, struct str end, struct str *taken)
{
	const char *at = rest->len ? memmem(rest->ptr, rest->len, end.ptr, end.len) : NULL;

	if (!at)
		return false;
	*taken = (struct str){ rest->ptr, (size_t)(at - rest->ptr) };
	rest->ptr = at + end.len;
	rest->len -= taken->len + end.len;
	return true;
}

/* Append the character that a reference such as "amp" or "#x41" stands for. */
static bool add_reference(struct buf *out, struct str name)
{
	static const struct {
		const char *name;
		char c;
	} named[] = { { "lt", '<' }, { "gt", '>' }, { "amp", '&' }, { "quot", '"' },
		{ "apos", '\'' } };
	char digits[REFERENCE_MAX + 1] = "", *end;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (str_eq(name, str_of(named[i].name))) {
			buf_addc(out, named[i].c);
			return true;
		}
	if (name.len < 2 || name.len > REFERENCE_MAX || name.ptr[0] != '#')
		return false;
	bool hex = name.ptr[1] == 'x';
	memcpy(digits, name.ptr + 1 + hex, name.len - 1 - hex);
	if (text_hex_value(digits[0]) < 0)
		return false;
	unsigned long code = strtoul(digits, &end, hex ? 16 : 10);
	if (*end || !code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return false;
	text_utf8_add(out, (uint32_t)code);
	return true;
}

static bool read_text(struct reading *reading)
{
	while (reading->rest.len && *reading->rest.ptr != '<') {
		char c = *reading->rest.ptr++;
		struct str name;

		reading->rest.len--;
		if (c != '&')
			buf_addc(&reading->text, c);
		else if (!take_until(&reading->rest, STR(";"), &name) ||
			 !add_reference(&reading->text, name))
			return false;
	}
	return true;
}

/* Returns the text of the element, or NULL.  A space replaces each control character. */
static const char *take_text(struct reading *reading)
{
	struct str text = { reading->text.data, reading->text.len };

	if (!text.len || text.len > DESCRIPTION_MAX || !text_is_utf8(text))
		return NULL;
	char *copy = (char *)arena_str(reading->arena, text).ptr;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = ' ';
	return copy;
}

/* Set the date.  snapper writes it as "2024-01-31 12:00:00", in UTC. */
static void set_date(struct reading *reading)
{
	struct err none = { 0 };
	int64_t instant;

	if (reading->text.len >= 10 && when_parse(reading->text.data, 0, &instant, &none) >= 0)
		reading->info->date = instant;
}

static void set_member(struct reading *reading, struct str name)
{
	struct snapperinfo *info = reading->info;

	if (str_eq(name, STR("type")))
		info->type = take_text(reading);
	else if (str_eq(name, STR("num")))
		info->number = strtoull(reading->text.data ?: "", NULL, 10);
	else if (str_eq(name, STR("date")))
		set_date(reading);
	else if (str_eq(name, STR("description")))
		info->description = take_text(reading);
	else if (str_eq(name, STR("cleanup")))
		info->cleanup = take_text(reading);
}

static bool open_element(struct reading *reading, struct str name)
{
	if (reading->depth == DEPTH_MAX || reading->done || !name.len ||
		(!reading->depth && !str_eq(name, STR("snapshot"))))
		return false;
	reading->open[reading->depth++] = name;
	if (reading->depth <= 2)
		buf_clear(&reading->text);
	return true;
}

static bool close_element(struct reading *reading, struct str name)
{
	if (!reading->depth || !str_eq(reading->open[reading->depth - 1], name))
		return false;
	if (reading->depth == 2)
		set_member(reading, name);
	reading->done = --reading->depth == 0;
	return true;
}

/* Read a part that begins with '<'. */
static bool read_markup(struct reading *reading)
{
	struct str tag;

	if (str_starts(reading->rest, STR("<!--")))
		return take_until(&reading->rest, STR("-->"), &tag);
	if (str_starts(reading->rest, STR("<?")))
		return take_until(&reading->rest, STR("?>"), &tag);
	if (!take_until(&reading->rest, STR(">"), &tag))
		return false;
	tag.ptr++;
	tag.len--;
	if (tag.len && *tag.ptr == '/')
		return close_element(reading, (struct str){ tag.ptr + 1, tag.len - 1 });
	bool empty = tag.len && tag.ptr[tag.len - 1] == '/';
	struct str name = { tag.ptr, 0 };
	while (name.len < tag.len - empty && !strchr(" \t\r\n", name.ptr[name.len]))
		name.len++;
	if (name.len && *name.ptr == '!')
		return false;
	return open_element(reading, name) && (!empty || close_element(reading, name));
}

bool snapperinfo_parse(struct str text, struct arena *arena, struct snapperinfo *info)
{
	struct reading reading = {
		.rest = text,
		.text = BUF_INIT,
		.arena = arena,
		.info = info,
	};
	bool ok = text.len <= SNAPPERINFO_MAX && !(text.len && memchr(text.ptr, '\0', text.len));

	*info = (struct snapperinfo){ .date = INT64_MIN };
	while (ok && reading.rest.len)
		ok = *reading.rest.ptr == '<' ? read_markup(&reading) : read_text(&reading);
	buf_release(&reading.text);
	return ok && reading.done;
}
