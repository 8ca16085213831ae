#include "worker/wire.h"

#include <stdio.h>

#include "core/jsonread.h"
#include "core/own.h"
#include "core/text.h"

static const char *const kinds[] = {
	[WIRE_PING] = "ping",
	[WIRE_SHUTDOWN] = "shutdown",
	[WIRE_READ] = "read",
	[WIRE_WRITE] = "write",
	[WIRE_EDIT] = "edit",
	[WIRE_GLOB] = "glob",
	[WIRE_GREP] = "grep",
	[WIRE_STAT] = "stat",
	[WIRE_GET_ENV] = "get_env",
	[WIRE_CANCEL] = "cancel",
	[WIRE_PONG] = "pong",
	[WIRE_ERROR] = "error",
};

static const char *const encodings[] = {
	[WIRE_BYTES] = "bytes",
	[WIRE_BASE64] = "base64",
	[WIRE_UTF8] = "utf8",
};

static const char *const codes[] = {
	[WIRE_UNIMPLEMENTED] = "unimplemented",
	[WIRE_POLICY_DENIED] = "policy_denied",
	[WIRE_IO] = "io",
	[WIRE_PROTOCOL] = "protocol",
	[WIRE_INTERNAL] = "internal",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------ strings */

/*
 * Returns the number of bytes that the character at text[i] takes in a JSON string.  *step becomes
 * the length of the character in the text.
 */
static size_t escaped_size(struct str text, size_t i, size_t *step)
{
	unsigned char c = (unsigned char)text.ptr[i];

	*step = 1;
	if (c >= 0x80) {
		size_t len = text_utf8_length((struct str){ text.ptr + i, text.len - i });

		*step = len ?: 1;
		return len ?: sizeof("\\udc80") - 1;
	}
	if (c == '"' || c == '\\')
		return 2;
	if (c >= 0x20)
		return 1;
	return memchr("\b\f\n\r\t", c, 5) ? 2 : sizeof("\\u0000") - 1;
}

size_t wire_text_size(struct str text)
{
	size_t size = 2, step;

	for (size_t i = 0; i < text.len; i += step)
		size += escaped_size(text, i, &step);
	return size;
}

static void add_escaped(struct buf *out, unsigned char c)
{
	static const char bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = memchr(bytes, c, sizeof(bytes) - 1);

	if (found) {
		buf_addc(out, '\\');
		buf_addc(out, letters[found - bytes]);
	} else {
		buf_addf(out, c < 0x80 ? "\\u00%02x" : "\\udc%02x", c);
	}
}

static void add_text(struct buf *out, struct str text)
{
	size_t copied = 0, step;

	buf_addc(out, '"');
	for (size_t i = 0; i < text.len; i += step) {
		if (escaped_size(text, i, &step) == step)
			continue;
		buf_add(out, text.ptr + copied, i - copied);
		add_escaped(out, (unsigned char)text.ptr[i]);
		copied = i + step;
	}
	if (copied < text.len)
		buf_add(out, text.ptr + copied, text.len - copied);
	buf_addc(out, '"');
}

/* ------------------------------------------------------------------ content */

static size_t digits_of(unsigned char byte)
{
	return byte < 10 ? 1 : byte < 100 ? 2 : 3;
}

/*
 * Returns how many bytes of the content fit into 'room' bytes of a JSON array.  The array has two
 * brackets, the digits of each byte, and a comma between two numbers.
 */
static size_t fits_as_bytes(struct str content, size_t room)
{
	size_t used = 2, n = 0;

	while (n < content.len) {
		size_t more = digits_of((unsigned char)content.ptr[n]) + (n > 0);

		if (used + more > room)
			break;
		used += more;
		n++;
	}
	return n;
}

static size_t fits_as_text(struct str content, size_t room)
{
	size_t used = 2, n = 0, step;

	while (n < content.len) {
		size_t more = escaped_size(content, n, &step);

		if (used + more > room)
			break;
		used += more;
		n += step;
	}
	return n;
}

size_t wire_content_fits(struct str content, enum wire_encoding encoding, size_t room)
{
	if (encoding == WIRE_BYTES)
		return fits_as_bytes(content, room);
	if (encoding == WIRE_UTF8)
		return fits_as_text(content, room);
	size_t n = room > 2 ? (room - 2) / 4 * 3 : 0;
	return n < content.len ? n : content.len;
}

static void add_bytes(struct buf *out, struct str content)
{
	size_t size = 2 + content.len;

	for (size_t i = 0; i < content.len; i++)
		size += digits_of((unsigned char)content.ptr[i]);
	char *room = buf_reserve(out, size), *at = room;
	if (!room)
		return;
	*at++ = '[';
	for (size_t i = 0; i < content.len; i++) {
		unsigned char byte = (unsigned char)content.ptr[i];

		if (i)
			*at++ = ',';
		if (byte >= 100)
			*at++ = (char)('0' + byte / 100);
		if (byte >= 10)
			*at++ = (char)('0' + byte / 10 % 10);
		*at++ = (char)('0' + byte % 10);
	}
	*at++ = ']';
	out->len += (size_t)(at - room);
	out->data[out->len] = '\0';
}

static void add_content(struct buf *out, struct str content, enum wire_encoding encoding)
{
	if (encoding == WIRE_BYTES) {
		add_bytes(out, content);
	} else if (encoding == WIRE_UTF8) {
		add_text(out, content);
	} else {
		buf_addc(out, '"');
		text_base64(out, content);
		buf_addc(out, '"');
	}
}

/*
 * Returns the bytes of a JSON array of numbers from 0 to 255.  Returns NULL if the JSON is not such
 * an array.
 */
static const char *read_bytes(struct str json, struct arena *arena, size_t *len)
{
	char *bytes = arena_alloc(arena, json.len / 2 + 1);
	const char *at = json.ptr + 1, *end = json.ptr + json.len;
	size_t n = 0;

#define SKIP_SPACE                                                                                 \
	while (at < end && memchr(" \t\r\n", *at, 4))                                              \
	at++
	for (;;) {
		unsigned value = 0, digits = 0;

		SKIP_SPACE;
		if (at < end && *at == ']' && !n)
			break;
		for (; at < end && *at >= '0' && *at <= '9' && digits < 4; at++, digits++)
			value = value * 10 + (unsigned)(*at - '0');
		if (!digits || value > 255 || (digits > 1 && at[-(int)digits] == '0'))
			return NULL;
		bytes[n++] = (char)value;
		SKIP_SPACE;
		if (at == end || (*at != ',' && *at != ']'))
			return NULL;
		if (*at++ == ']')
			break;
	}
#undef SKIP_SPACE
	*len = n;
	return bytes;
}

/* ------------------------------------------------------------------ reading */

/* The state while one JSON object is read into a struct. */
struct reading {
	struct arena *arena;
	struct jsonread *object; /* all members except 'content' */
	struct str content;      /* the value of 'content', as JSON; ptr NULL: not given */
	char why[128];           /* message about the first wrong member; empty: none */
};

static bool is_wrong(struct reading *reading, const char *name, const char *wants)
{
	if (!reading->why[0])
		snprintf(reading->why, sizeof(reading->why), "'%s' must be %s", name, wants);
	return false;
}

static void release_reading(struct reading *reading)
{
	jsonread_free(reading->object);
}

static bool is_content(struct str key)
{
	return str_eq(key, STR("content"));
}

/*
 * Cut the member 'content' out of the object, and parse the rest of the object.  If the content
 * were parsed into a tree of values, each of its bytes would need fifty bytes of memory.
 */
static int take_apart(struct reading *reading, struct str json, struct err *err)
{
	owned(buf_release) struct buf rest = { .max = json.len + 2 };
	struct jsonread_parts parts;
	struct str key, value;
	int r = jsonread_parts_init(&parts, json, err);

	if (r < 0)
		return r;
	if (!parts.object)
		return err_set(err, ERR_INVALID, "not a JSON object");
	buf_addc(&rest, '{');
	while ((r = jsonread_parts_next(&parts, &key, &value, err)) > 0) {
		if (is_content(key) && (*value.ptr == '[' || *value.ptr == '"')) {
			struct str earlier = reading->content;

			reading->content = value;
			if (!earlier.ptr)
				continue;
			value = earlier;
		}
		if (rest.len > 1)
			buf_addc(&rest, ',');
		buf_addc(&rest, '"');
		buf_add(&rest, key.ptr, key.len);
		buf_adds(&rest, "\":");
		buf_add(&rest, value.ptr, value.len);
	}
	if (r < 0)
		return r;
	buf_addc(&rest, '}');
	reading->object = jsonread_new((struct str){ rest.data, rest.len }, err);
	return reading->object ? 0 : -(int)err->code;
}

static bool take_text(struct reading *reading, const char *name, bool required, struct str *out)
{
	switch (jsonread_get_str(reading->object, name, out)) {
	case JSONREAD_FOUND:
		*out = arena_str(reading->arena, *out);
		return true;
	case JSONREAD_WRONG_TYPE:
		return is_wrong(reading, name, "a string");
	default:
		return required ? is_wrong(reading, name, "given") : false;
	}
}

static void take_count(struct reading *reading, const char *name, bool required, int64_t *out)
{
	enum jsonread_found found = jsonread_get_int(reading->object, name, out);

	if (found == JSONREAD_WRONG_TYPE || (found == JSONREAD_FOUND && *out < 0))
		is_wrong(reading, name, "a number from 0 on");
	else if (required && found != JSONREAD_FOUND)
		is_wrong(reading, name, "given");
}

static void take_bool(struct reading *reading, const char *name, bool required, bool *out)
{
	enum jsonread_found found = jsonread_get_bool(reading->object, name, out);

	if (found == JSONREAD_WRONG_TYPE)
		is_wrong(reading, name, "true or false");
	else if (required && found != JSONREAD_FOUND)
		is_wrong(reading, name, "given");
}

/*
 * Read a member whose value must be in the list 'words'.  Returns the index of the value in this
 * list, or -1 if the member is missing or wrong.
 */
static int take_word(struct reading *reading, const char *name, const char *const *words, size_t n,
	bool required)
{
	struct str text;

	if (!take_text(reading, name, required, &text))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (str_eq(text, str_of(words[i])))
			return (int)i;
	is_wrong(reading, name, "one of the words of the protocol");
	return -1;
}

static void take_encoding(struct reading *reading, enum wire_encoding *out)
{
	int found = take_word(reading, "encoding", encodings, COUNT(encodings), false);

	*out = found < 0 ? WIRE_BYTES : (enum wire_encoding)found;
}

/*
 * Read a list of texts.  If 'nullable' is set, an element may be null, and becomes a text whose ptr
 * is NULL.
 */
static void take_texts(
	struct reading *reading, const char *name, bool nullable, struct str **out, size_t *n)
{
	const struct jsonread *list = jsonread_member(reading->object, name);

	if (!list || jsonread_type(list) != JSONREAD_ARRAY) {
		is_wrong(reading, name, "a list of strings");
		return;
	}
	*n = jsonread_count(list);
	*out = arena_alloc(reading->arena, (*n + 1) * sizeof(**out));
	for (size_t i = 0; i < *n; i++) {
		const struct jsonread *item = jsonread_item(list, i);

		if (jsonread_type(item) == JSONREAD_STRING)
			(*out)[i] = arena_str(reading->arena, jsonread_str(item));
		else if (!nullable || jsonread_type(item) != JSONREAD_NULL)
			is_wrong(reading, name, "a list of strings");
	}
}

static void take_coded(
	struct reading *reading, struct str text, enum wire_encoding encoding, struct str *out)
{
	owned(buf_release) struct buf bytes = { .max = text.len + 1 };

	if (encoding == WIRE_UTF8) {
		*out = text;
		return;
	}
	if (!text_unbase64(&bytes, text))
		is_wrong(reading, "content", "base64");
	*out = arena_str(reading->arena, (struct str){ bytes.data ?: "", bytes.len });
}

static void take_content(struct reading *reading, enum wire_encoding encoding, struct str *out)
{
	struct err ignored = { 0 };

	if (!reading->content.ptr) {
		is_wrong(reading, "content", "given, as numbers from 0 to 255 or as a string");
		return;
	}
	if (*reading->content.ptr == '[') {
		out->ptr = read_bytes(reading->content, reading->arena, &out->len);
		if (!out->ptr)
			is_wrong(reading, "content", "numbers from 0 to 255");
		return;
	}
	owned(jsonread_freep) struct jsonread *text = jsonread_new(reading->content, &ignored);
	if (!text)
		is_wrong(reading, "content", "a string");
	else if (encoding == WIRE_BYTES)
		is_wrong(reading, "content", "numbers, unless 'encoding' is base64 or utf8");
	else
		take_coded(reading, arena_str(reading->arena, jsonread_str(text)), encoding, out);
}

/* Read the id, which is a number or a string.  It is kept as JSON. */
static void take_id(struct reading *reading, bool required, struct str *out)
{
	const struct jsonread *value = jsonread_member(reading->object, "id");
	owned(buf_release) struct buf text = { .max = WIRE_ID_MAX + 1 };

	*out = (struct str){ "", 0 };
	if (!value || jsonread_type(value) == JSONREAD_NULL) {
		if (required)
			is_wrong(reading, "id", "given");
		return;
	}
	if (jsonread_type(value) == JSONREAD_INT)
		buf_addf(&text, "%lld", (long long)jsonread_int(value));
	else if (jsonread_type(value) == JSONREAD_STRING)
		add_text(&text, jsonread_str(value));
	else
		is_wrong(reading, "id", "a number or a string");
	if (text.overflowed || text.len > WIRE_ID_MAX)
		is_wrong(reading, "id", "shorter");
	else
		*out = arena_str(reading->arena, (struct str){ text.data ?: "", text.len });
}

/*
 * Check that the member 'content' is JSON, since it was cut out without being parsed.  This is not
 * needed if the content was decoded and all members are right.
 */
static int check_content(const struct reading *reading, bool used, struct err *err)
{
	if (!reading->content.ptr || (used && !reading->why[0]))
		return 0;
	owned(jsonread_freep) struct jsonread *value = jsonread_new(reading->content, err);
	return value ? 0 : -(int)err->code;
}

/*
 * Returns the index of the object's kind in the table kinds.  Returns COUNT(kinds) if the kind is
 * unknown, and a negative error if the object has no kind.
 */
static int read_kind(const struct jsonread *object, struct err *err)
{
	struct str word;

	if (jsonread_get_str(object, "kind", &word) != JSONREAD_FOUND)
		return err_set(err, ERR_INVALID, "no 'kind', which says what is asked for");
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_eq(word, str_of(kinds[i])))
			return (int)i;
	return COUNT(kinds);
}

static void take_request(struct reading *reading, struct wire_request *out)
{
	switch (out->kind) {
	case WIRE_READ:
		take_text(reading, "path", true, &out->path);
		take_count(reading, "max_bytes", false, &out->max_bytes);
		take_count(reading, "offset", false, &out->offset);
		take_encoding(reading, &out->encoding);
		break;
	case WIRE_WRITE:
		take_text(reading, "path", true, &out->path);
		take_encoding(reading, &out->encoding);
		take_content(reading, out->encoding, &out->content);
		break;
	case WIRE_EDIT:
		take_text(reading, "path", true, &out->path);
		take_text(reading, "old_string", true, &out->old_string);
		take_text(reading, "new_string", true, &out->new_string);
		take_bool(reading, "replace_all", false, &out->replace_all);
		break;
	case WIRE_GREP:
		take_text(reading, "include", false, &out->include);
		take_count(reading, "max_matches", false, &out->max_matches);
		/* fall through */
	case WIRE_GLOB:
		take_text(reading, "pattern", true, &out->pattern);
		take_text(reading, "root", true, &out->root);
		take_bool(reading, "no_ignore", false, &out->no_ignore);
		break;
	case WIRE_STAT:
		take_text(reading, "path", true, &out->path);
		break;
	case WIRE_GET_ENV:
		take_texts(reading, "names", false, &out->names, &out->n_names);
		break;
	default:
		break;
	}
}

int wire_read_request(struct str json, struct arena *arena, struct wire_request *out,
	enum wire_code *fault, struct err *err)
{
	*fault = WIRE_INTERNAL;
	owned(release_reading) struct reading reading = { .arena = arena };
	int r = take_apart(&reading, json, err);
	int kind = r < 0 ? r : read_kind(reading.object, err);

	if (kind < 0)
		return kind;
	*out = (struct wire_request){
		.kind = (enum wire_kind)kind, .max_bytes = -1, .offset = -1, .max_matches = -1
	};
	take_id(&reading, kind == WIRE_CANCEL, &out->id);
	take_request(&reading, out);
	r = check_content(&reading, kind == WIRE_WRITE, err);
	if (r < 0)
		return r;
	if (kind >= WIRE_PONG) {
		*fault = WIRE_UNIMPLEMENTED;
		return err_set(err, ERR_INVALID, "no such kind of request");
	}
	if (!reading.why[0])
		return 0;
	*fault = WIRE_PROTOCOL;
	return err_set(err, ERR_INVALID, "%s: %s", kinds[kind], reading.why);
}

static void take_match(
	struct reading *reading, const struct jsonread *value, struct wire_match *out)
{
	struct reading one = { .arena = reading->arena, .object = (struct jsonread *)value };
	int64_t line = 0;

	if (jsonread_type(value) != JSONREAD_OBJECT) {
		is_wrong(reading, "matches", "a list of objects");
		return;
	}
	take_text(&one, "path", true, &out->path);
	take_count(&one, "line", true, &line);
	take_text(&one, "text", true, &out->text);
	take_bool(&one, "cut", false, &out->cut);
	out->line = (uint64_t)line;
	if (one.why[0])
		memcpy(reading->why, one.why, sizeof(one.why));
}

static void take_matches(struct reading *reading, struct wire_reply *out)
{
	const struct jsonread *list = jsonread_member(reading->object, "matches");

	if (!list || jsonread_type(list) != JSONREAD_ARRAY) {
		is_wrong(reading, "matches", "a list");
		return;
	}
	out->n_matches = jsonread_count(list);
	out->matches = arena_alloc(reading->arena, (out->n_matches + 1) * sizeof(*out->matches));
	for (size_t i = 0; i < out->n_matches; i++)
		take_match(reading, jsonread_item(list, i), &out->matches[i]);
}

static void take_stat(struct reading *reading, struct wire_reply *out)
{
	int64_t size = 0, mode = -1;

	take_count(reading, "size", true, &size);
	take_bool(reading, "is_dir", true, &out->is_dir);
	take_bool(reading, "is_symlink", true, &out->is_symlink);
	take_count(reading, "mode", false, &mode);
	out->size = (uint64_t)size;
	out->has_mode = mode >= 0;
	out->mode = out->has_mode ? (uint32_t)mode : 0;
	if (jsonread_get_int(reading->object, "mtime", &out->mtime) == JSONREAD_WRONG_TYPE)
		is_wrong(reading, "mtime", "a number");
}

static void take_error(struct reading *reading, struct wire_reply *out)
{
	int code = take_word(reading, "code", codes, COUNT(codes), true);
	struct str name;

	out->code = code < 0 ? WIRE_INTERNAL : (enum wire_code)code;
	take_text(reading, "message", true, &out->message);
	if (take_text(reading, "errno", false, &name))
		out->error = name.ptr;
}

static void take_reply(struct reading *reading, struct wire_reply *out)
{
	int64_t number = 0, skipped = 0;

	switch (out->kind) {
	case WIRE_READ:
		take_encoding(reading, &out->encoding);
		take_content(reading, out->encoding, &out->content);
		break;
	case WIRE_WRITE:
		take_count(reading, "bytes_written", true, &number);
		break;
	case WIRE_EDIT:
		take_count(reading, "replacements", true, &number);
		break;
	case WIRE_GLOB:
		take_texts(reading, "paths", false, &out->paths, &out->n_paths);
		break;
	case WIRE_GREP:
		take_matches(reading, out);
		break;
	case WIRE_STAT:
		take_stat(reading, out);
		break;
	case WIRE_GET_ENV:
		take_texts(reading, "values", true, &out->values, &out->n_values);
		break;
	case WIRE_ERROR:
		take_error(reading, out);
		break;
	default:
		break;
	}
	take_bool(reading, "truncated", false, &out->truncated);
	take_count(reading, "skipped", false, &skipped);
	out->count = (uint64_t)number;
	out->skipped = (uint64_t)skipped;
}

int wire_read_reply(struct str json, struct arena *arena, struct wire_reply *out, struct err *err)
{
	owned(release_reading) struct reading reading = { .arena = arena };
	int r = take_apart(&reading, json, err);
	int kind = r < 0 ? r : read_kind(reading.object, err);

	if (kind < 0)
		return kind;
	if (kind == COUNT(kinds) || kind <= WIRE_SHUTDOWN || kind == WIRE_CANCEL)
		return err_set(err, ERR_INVALID, "no such kind of reply");
	*out = (struct wire_reply){ .kind = (enum wire_kind)kind };
	take_id(&reading, false, &out->id);
	take_reply(&reading, out);
	r = check_content(&reading, kind == WIRE_READ, err);
	if (r < 0)
		return r;
	if (reading.why[0])
		return err_set(err, ERR_INVALID, "%s: %s", kinds[kind], reading.why);
	return 0;
}

/* ------------------------------------------------------------------ writing */

static void add_kind(struct buf *out, enum wire_kind kind)
{
	buf_addf(out, "{\"kind\":\"%s\"", kinds[kind]);
}

static void add_member(struct buf *out, const char *name, struct str text)
{
	buf_addf(out, ",\"%s\":", name);
	add_text(out, text);
}

static void add_count(struct buf *out, const char *name, uint64_t value)
{
	buf_addf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_bool(struct buf *out, const char *name, bool value)
{
	buf_addf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void add_texts(struct buf *out, const char *name, const struct str *texts, size_t n)
{
	buf_addf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(out, ',');
		if (texts[i].ptr)
			add_text(out, texts[i]);
		else
			buf_adds(out, "null");
	}
	buf_addc(out, ']');
}

static void end_object(struct buf *out, struct str id)
{
	if (id.len) {
		buf_adds(out, ",\"id\":");
		buf_add(out, id.ptr, id.len);
	}
	buf_addc(out, '}');
}

static void write_read(struct buf *out, const struct wire_request *request)
{
	add_member(out, "path", request->path);
	if (request->max_bytes >= 0)
		add_count(out, "max_bytes", (uint64_t)request->max_bytes);
	else
		buf_adds(out, ",\"max_bytes\":null");
	if (request->offset >= 0)
		add_count(out, "offset", (uint64_t)request->offset);
	if (request->encoding != WIRE_BYTES)
		add_member(out, "encoding", str_of(encodings[request->encoding]));
}

static void write_content(struct buf *out, struct str content, enum wire_encoding encoding)
{
	buf_adds(out, ",\"content\":");
	add_content(out, content, encoding);
	if (encoding != WIRE_BYTES)
		add_member(out, "encoding", str_of(encodings[encoding]));
}

static void write_search(struct buf *out, const struct wire_request *request)
{
	add_member(out, "pattern", request->pattern);
	add_member(out, "root", request->root);
	if (request->kind == WIRE_GREP) {
		if (request->include.ptr)
			add_member(out, "include", request->include);
		else
			buf_adds(out, ",\"include\":null");
		if (request->max_matches >= 0)
			add_count(out, "max_matches", (uint64_t)request->max_matches);
	}
	if (request->no_ignore)
		add_bool(out, "no_ignore", true);
}

void wire_write_request(struct buf *out, const struct wire_request *request)
{
	add_kind(out, request->kind);
	switch (request->kind) {
	case WIRE_READ:
		write_read(out, request);
		break;
	case WIRE_WRITE:
		add_member(out, "path", request->path);
		write_content(out, request->content, request->encoding);
		break;
	case WIRE_EDIT:
		add_member(out, "path", request->path);
		add_member(out, "old_string", request->old_string);
		add_member(out, "new_string", request->new_string);
		if (request->replace_all)
			add_bool(out, "replace_all", true);
		break;
	case WIRE_GLOB:
	case WIRE_GREP:
		write_search(out, request);
		break;
	case WIRE_STAT:
		add_member(out, "path", request->path);
		break;
	case WIRE_GET_ENV:
		add_texts(out, "names", request->names, request->n_names);
		break;
	default:
		break;
	}
	end_object(out, request->id);
}

static void write_matches(struct buf *out, const struct wire_reply *reply)
{
	buf_adds(out, ",\"matches\":[");
	for (size_t i = 0; i < reply->n_matches; i++) {
		const struct wire_match *match = &reply->matches[i];

		buf_adds(out, i ? ",{\"path\":" : "{\"path\":");
		add_text(out, match->path);
		add_count(out, "line", match->line);
		add_member(out, "text", match->text);
		if (match->cut)
			add_bool(out, "cut", true);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void write_stat(struct buf *out, const struct wire_reply *reply)
{
	add_count(out, "size", reply->size);
	add_bool(out, "is_dir", reply->is_dir);
	add_bool(out, "is_symlink", reply->is_symlink);
	if (reply->has_mode) {
		add_count(out, "mode", reply->mode);
		buf_addf(out, ",\"mtime\":%lld", (long long)reply->mtime);
	}
}

static void write_error(struct buf *out, const struct wire_reply *reply)
{
	add_member(out, "code", str_of(codes[reply->code]));
	add_member(out, "message", reply->message);
	if (reply->error)
		add_member(out, "errno", str_of(reply->error));
}

void wire_write_reply(struct buf *out, const struct wire_reply *reply)
{
	add_kind(out, reply->kind);
	switch (reply->kind) {
	case WIRE_READ:
		write_content(out, reply->content, reply->encoding);
		break;
	case WIRE_WRITE:
		add_count(out, "bytes_written", reply->count);
		break;
	case WIRE_EDIT:
		add_count(out, "replacements", reply->count);
		break;
	case WIRE_GLOB:
		add_texts(out, "paths", reply->paths, reply->n_paths);
		break;
	case WIRE_GREP:
		write_matches(out, reply);
		break;
	case WIRE_STAT:
		write_stat(out, reply);
		break;
	case WIRE_GET_ENV:
		add_texts(out, "values", reply->values, reply->n_values);
		break;
	case WIRE_ERROR:
		write_error(out, reply);
		break;
	default:
		break;
	}
	if (reply->skipped)
		add_count(out, "skipped", reply->skipped);
	if (reply->truncated)
		add_bool(out, "truncated", true);
	end_object(out, reply->id);
}
