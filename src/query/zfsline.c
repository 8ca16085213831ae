#include "query/zfsline.h"

/* Take the first field off a line.  Returns false if there is no tab. */
static bool take_first(struct str *line, struct str *field)
{
	const char *tab = line->len ? memchr(line->ptr, '\t', line->len) : NULL;

	if (!tab)
		return false;
	*field = (struct str){ line->ptr, (size_t)(tab - line->ptr) };
	line->ptr += field->len + 1;
	line->len -= field->len + 1;
	return true;
}

/* Take the last field off a line.  Returns false if there is no tab. */
static bool take_last(struct str *line, struct str *field)
{
	const char *tab = line->len ? memrchr(line->ptr, '\t', line->len) : NULL;

	if (!tab)
		return false;
	*field = (struct str){ tab + 1, (size_t)(line->ptr + line->len - tab - 1) };
	line->len = (size_t)(tab - line->ptr);
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool zfsline_number(struct str text, int64_t *number)
{
	*number = -1;
	if (str_eq(text, STR("-")))
		return true;
	if (!text.len || text.len > 19)
		return false;
	uint64_t value = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_digit(text.ptr[i]))
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	*number = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return true;
}

static bool is_mountpoint(struct str text)
{
	return (text.len && *text.ptr == '/') || str_eq(text, STR("-")) ||
	       str_eq(text, STR("none")) || str_eq(text, STR("legacy"));
}

bool zfsline_dataset(struct str line, struct zfsline_dataset *out)
{
	struct str used, available;

	if (!take_first(&line, &out->name) || !take_first(&line, &out->type) ||
		!take_last(&line, &available) || !take_last(&line, &used))
		return false;
	out->mountpoint = line;
	if (!str_eq(out->type, STR("filesystem")) && !str_eq(out->type, STR("volume")))
		return false;
	return out->name.len && is_mountpoint(line) && zfsline_number(used, &out->used) &&
	       zfsline_number(available, &out->available);
}

bool zfsline_snapshot(struct str line, struct zfsline_snapshot *out)
{
	struct str name, creation, used;

	if (!take_first(&line, &name) || !take_first(&line, &creation) || !take_first(&line, &used))
		return false;
	const char *at = name.len ? memchr(name.ptr, '@', name.len) : NULL;
	if (!at)
		return false;
	out->dataset = (struct str){ name.ptr, (size_t)(at - name.ptr) };
	out->name = (struct str){ at + 1, name.len - out->dataset.len - 1 };
	return out->dataset.len && out->name.len && zfsline_number(creation, &out->creation) &&
	       out->creation >= 0 && zfsline_number(used, &out->used) &&
	       zfsline_number(line, &out->referenced);
}

bool zfsline_is_temporary(struct str snapshot)
{
	static const struct str prefix = { "zfs-diff-", 9 };
	size_t i = prefix.len;

	if (!str_starts(snapshot, prefix))
		return false;
	while (i < snapshot.len && is_digit(snapshot.ptr[i]))
		i++;
	if (i == prefix.len || i == snapshot.len || snapshot.ptr[i++] != '-' || i == snapshot.len)
		return false;
	while (i < snapshot.len &&
		(is_digit(snapshot.ptr[i]) || (snapshot.ptr[i] >= 'a' && snapshot.ptr[i] <= 'f')))
		i++;
	return i == snapshot.len;
}

static bool is_source(struct str text)
{
	static const char *const words[] = { "-", "none", "default", "local", "temporary",
		"received" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_eq(text, str_of(words[i])))
			return true;
	return str_starts(text, STR("inherited from "));
}

bool zfsline_property(struct str line, struct str dataset, struct zfsline_property *out)
{
	struct str name;

	if (!take_first(&line, &name) || !take_first(&line, &out->name) ||
		!take_last(&line, &out->source))
		return false;
	out->value = line;
	return str_eq(name, dataset) && out->name.len && is_source(out->source);
}

bool zfsline_pool(struct str line, struct pool *out)
{
	struct str size, allocated, free;

	if (!take_first(&line, &out->name) || !take_first(&line, &size) ||
		!take_first(&line, &allocated) || !take_first(&line, &free))
		return false;
	out->health = line;
	return out->name.len && line.len && !memchr(line.ptr, '\t', line.len) &&
	       zfsline_number(size, &out->size) && zfsline_number(allocated, &out->allocated) &&
	       zfsline_number(free, &out->free);
}

/* ------------------------------------------------------------------ changes */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Decode a path.  A byte in it may be written as a backslash and 4 octal digits. */
static bool decode_path(struct str text, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.ptr + i;

		if (*at != '\\') {
			buf_addc(out, *at);
			continue;
		}
		if (text.len - i < 5 || at[1] != '0' || !is_octal(at[2]) || at[2] > '3' ||
			!is_octal(at[3]) || !is_octal(at[4]))
			return false;
		buf_addc(out, (char)((at[2] - '0') << 6 | (at[3] - '0') << 3 | (at[4] - '0')));
		i += 4;
	}
	return out->len && !out->overflowed && !memchr(out->data, '\0', out->len);
}

static enum entry_type type_of(char letter)
{
	switch (letter) {
	case 'F':
		return ENTRY_FILE;
	case '/':
		return ENTRY_DIR;
	case '@':
		return ENTRY_LINK;
	case 'B':
		return ENTRY_BLOCK;
	case 'C':
		return ENTRY_CHAR;
	case '=':
		return ENTRY_SOCKET;
	default:
		return ENTRY_FIFO; /* '|', or a type of other systems: a door or an event port */
	}
}

bool zfsline_change(
	struct str line, struct buf *path, struct buf *new_path, struct zfsline_change *out)
{
	struct str op, type, first = line, rest = { NULL, 0 };

	if (!take_first(&line, &op) || op.len != 1 || !strchr("+-MR", *op.ptr) || !*op.ptr ||
		!take_first(&line, &type) || type.len != 1)
		return false;
	first = line;
	if (take_first(&line, &first))
		rest = line; /* the new path, or a changed number of links, such as "(+1)" */
	*out = (struct zfsline_change){ .op = *op.ptr, .type = type_of(*type.ptr) };
	if (!decode_path(first, path) || (out->op == 'R' && !rest.ptr))
		return false;
	out->path = (struct str){ path->data, path->len };
	if (out->op != 'R')
		return true;
	if (!take_first(&rest, &first))
		first = rest;
	if (!decode_path(first, new_path))
		return false;
	out->new_path = (struct str){ new_path->data, new_path->len };
	return true;
}
