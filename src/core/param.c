#include "core/param.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/own.h"
#include "core/text.h"
#include "core/when.h"

#define CURSOR_DIGITS 18 /* a number of so many digits always fits an int64_t */

/*
 * The JSON type of each parameter type.  JSONREAD_NULL stands for several types; the function that
 * reads the value then checks its type.
 */
static const struct {
	enum jsonread_type type;
	const char *wants;  /* name of the kind of value, shown to people after KEY= */
	const char *must;   /* name of the kind of value in error messages */
	const char *schema; /* type in JSON Schema */
} kinds[PARAM_TYPES] = {
	[PARAM_TEXT] = { JSONREAD_STRING, "TEXT", "a string", "string" },
	[PARAM_FLAG] = { JSONREAD_BOOL, "true|false", "true or false", "boolean" },
	[PARAM_COUNT] = { JSONREAD_INT, "NUMBER", "a positive number", "integer" },
	[PARAM_BYTES] = { JSONREAD_NULL, "SIZE", "a size such as 500M", NULL },
	[PARAM_TEXTS] = { JSONREAD_NULL, "TEXT...", "a list of strings", "array" },
	[PARAM_STRING] = { JSONREAD_STRING, "TEXT", "a string", "string" },
	[PARAM_OBJECT] = { JSONREAD_OBJECT, "OBJECT", "an object", "object" },
	[PARAM_CURSOR] = { JSONREAD_STRING, "CURSOR", "a string", "string" },
	[PARAM_INT] = { JSONREAD_INT, "NUMBER", "an integer", "integer" },
	[PARAM_TIME] = { JSONREAD_STRING, "TIME", "a string", "string" },
	[PARAM_REGEX] = { JSONREAD_STRING, "REGEX", "a string", "string" },
	[PARAM_PATH] = { JSONREAD_STRING, "PATH", "a string", "string" },
	[PARAM_VALUE] = { JSONREAD_NULL, "TEXT", "a value", NULL },
	[PARAM_DATASET] = { JSONREAD_STRING, "DATASET", "a string", "string" },
	[PARAM_SNAPSHOT] = { JSONREAD_STRING, "SNAPSHOT", "a string", "string" },
};

const char *param_wants(const struct param *param)
{
	return kinds[param->type].wants;
}

const struct param *param_find(const struct param *params, const char *name)
{
	for (const struct param *param = params; param && param->name; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

const char *param_text(const struct param *param, const void *request)
{
	const void *slot = (const char *)request + param->offset;

	return param->type == PARAM_TEXT ? *(const char *const *)slot : NULL;
}

int param_text_descriptor(const char *text)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	long number = strtol(text, &end, 10);
	return *end || errno || number > INT_MAX ? -1 : (int)number;
}

const struct param *param_with_descriptor(const struct param *params, const void *request)
{
	for (const struct param *param = params; param && param->name; param++) {
		const char *text =
			param->flags & PARAM_DESCRIPTOR ? param_text(param, request) : NULL;

		if (text && param_text_descriptor(text) >= 0)
			return param;
	}
	return NULL;
}

static int hint_params(const char *name, const struct param *params, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (const struct param *param = params; param && param->name; param++)
		buf_addf(&text, "%s%s%s", text.len ? ", " : "", param->name,
			param->flags & PARAM_REQUIRED ? " (needed)" : "");
	if (!text.len)
		return err_hint(err, "%s has no parameters", name);
	return err_hint(err, "parameters of %s: %s", name, text.data);
}

static int refuse_unknown_key(
	const char *name, const struct param *params, const char *key, struct err *err)
{
	err_set(err, ERR_USAGE, "%s has no parameter '%.100s'", name, key);
	return hint_params(name, params, err);
}

void param_defaults(const struct param *params, void *request)
{
	for (const struct param *param = params; param && param->name; param++) {
		void *slot = (char *)request + param->offset;

		if (param->type == PARAM_PATH)
			*(struct param_path *)slot = (struct param_path){ STR(""), STR("") };
		else if (param->fallback)
			*(int64_t *)slot = param->fallback;
	}
}

void param_texts_add(struct param_texts *texts, struct arena *arena, const char *text)
{
	size_t n = texts->count;

	/*
	 * The list is full when its length is 0 or a power of two.  A full list gets twice the
	 * room.
	 */
	if (!(n & (n - 1))) {
		const char **list = arena_alloc(arena, (n ? 2 * n : 1) * sizeof(*list));

		if (n)
			memcpy(list, texts->list, n * sizeof(*list));
		texts->list = list;
	}
	texts->list[texts->count++] = text;
}

void param_schema(struct json *out, const struct param *param)
{
	bool number = kinds[param->type].type == JSONREAD_INT;

	json_open(out, param->name, '{');
	if (param->type == PARAM_BYTES) {
		json_open(out, "type", '[');
		json_text(out, NULL, "integer");
		json_text(out, NULL, "string");
		json_close(out);
	} else if (kinds[param->type].schema) {
		json_text(out, "type", kinds[param->type].schema);
	}
	json_text(out, "description", param->help);
	if (param->type == PARAM_TEXTS) {
		json_open(out, "items", '{');
		json_text(out, "type", "string");
		json_close(out);
	}
	if (number)
		json_int(out, "minimum", param->flags & PARAM_FROM_ZERO ? 0 : 1);
	if (number && param->fallback)
		json_int(out, "default", param->fallback);
	if (number && param->cap && param->cap < INT64_MAX)
		json_int(out, "maximum", param->cap);
	json_close(out);
}

/* ---------------------------------------------------------------- from JSON */

static int must_be(const char *key, const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID, "'%s' must be %s", key, what);
}

static int read_text(const char *key, const struct jsonread *value, struct arena *arena,
	const char **text, struct err *err)
{
	struct str bytes = jsonread_str(value);

	if (memchr(bytes.ptr, 0, bytes.len))
		return must_be(key, "a string without NUL", err);
	*text = arena_str(arena, bytes).ptr;
	return 0;
}

int param_read_texts(const char *key, const struct jsonread *value, struct arena *arena,
	struct param_texts *texts, struct err *err)
{
	bool object = jsonread_type(value) == JSONREAD_OBJECT;
	bool many = object || jsonread_type(value) == JSONREAD_ARRAY;
	size_t n = many ? jsonread_count(value) : 1;

	for (size_t i = 0; i < n; i++) {
		const struct jsonread *item = many ? jsonread_item(value, i) : value;
		const char *text = NULL;

		if (jsonread_type(item) != JSONREAD_STRING ||
			read_text(key, item, arena, &text, err) < 0)
			return must_be(key, kinds[PARAM_TEXTS].must, err);
		if (object)
			text = arena_printf(arena, "%s=%s", jsonread_key(value, i).ptr, text);
		param_texts_add(texts, arena, text);
	}
	return 0;
}

/* Read a size: a number, or a text with a unit as on the command line. */
static int read_bytes(
	const struct param *param, const struct jsonread *value, uint64_t *bytes, struct err *err)
{
	bool number = jsonread_type(value) == JSONREAD_INT && jsonread_int(value) >= 0;
	char text[32];

	if (number)
		*bytes = (uint64_t)jsonread_int(value);
	if (jsonread_type(value) == JSONREAD_STRING && jsonread_str(value).len < sizeof(text)) {
		struct str given = jsonread_str(value);

		memcpy(text, given.ptr, given.len);
		text[given.len] = '\0';
		number = text_parse_size(text, bytes);
	}
	if (number && (*bytes || param->flags & PARAM_FROM_ZERO))
		return 0;
	return must_be(param->name, kinds[PARAM_BYTES].must, err);
}

static int read_int(
	const struct param *param, const struct jsonread *value, int64_t *slot, struct err *err)
{
	int64_t least = param->flags & PARAM_FROM_ZERO ? 0 : 1;

	*slot = jsonread_int(value);
	if (*slot < least)
		return must_be(param->name,
			param->type == PARAM_COUNT ? kinds[PARAM_COUNT].must
			: least                    ? "positive"
						   : "0 or more",
			err);
	if (param->cap && *slot > param->cap)
		*slot = param->cap;
	return 0;
}

static int read_cursor(const char *key, struct str text, int64_t *slot, struct err *err)
{
	bool ok = text.len && text.len <= CURSOR_DIGITS;

	for (size_t i = 0; ok && i < text.len; i++) {
		ok = text.ptr[i] >= '0' && text.ptr[i] <= '9';
		*slot = *slot * 10 + (text.ptr[i] - '0');
	}
	return ok ? 0 : must_be(key, "what an earlier reply gave", err);
}

static int read_time(const char *key, struct str text, int64_t *slot, struct err *err)
{
	if (memchr(text.ptr, '\0', text.len))
		return must_be(key, "a time", err);
	int r = when_parse(text.ptr, when_now(), slot, err);
	return r < 0 ? err_context(err, "'%s'", key) : 0;
}

static int read_path(const char *key, struct str text, struct arena *arena, struct param_path *slot,
	struct err *err)
{
	char *path = arena_alloc(arena, text.len + 1);
	size_t len = 0;

	if (text.len > PARAM_PATH_BYTES_MAX)
		return err_set(
			err, ERR_LIMIT, "'%s' is longer than %d bytes", key, PARAM_PATH_BYTES_MAX);
	if (memchr(text.ptr, '\0', text.len))
		return err_set(err, ERR_DENIED, "'%s' has a NUL", key);
	slot->given = text;
	for (struct str name; (name = str_take_name(&text)).len;) {
		if (str_eq(name, STR("..")))
			return err_set(err, ERR_DENIED, "'%s' has a '..'", key);
		if (str_eq(name, STR(".")))
			continue;
		if (len)
			path[len++] = '/';
		memcpy(path + len, name.ptr, name.len);
		len += name.len;
	}
	slot->path = (struct str){ path, len };
	return 0;
}

static int read_value(const struct param_reader *reader, const struct param *param,
	const struct jsonread *value, struct err *err)
{
	void *slot = (char *)reader->request + param->offset;
	const char *key = param->name;
	struct str text = jsonread_type(value) == JSONREAD_STRING ? jsonread_str(value) : STR("");

	switch ((enum param_type)param->type) {
	case PARAM_TEXT:
		return read_text(key, value, reader->arena, slot, err);
	case PARAM_FLAG:
		*(bool *)slot = jsonread_bool(value);
		return 0;
	case PARAM_COUNT:
	case PARAM_INT:
		return read_int(param, value, slot, err);
	case PARAM_BYTES:
		return read_bytes(param, value, slot, err);
	case PARAM_TEXTS:
		return param_read_texts(key, value, reader->arena, slot, err);
	case PARAM_STRING:
		*(struct str *)slot = text;
		return 0;
	case PARAM_OBJECT:
	case PARAM_VALUE:
		*(const struct jsonread **)slot = value;
		return 0;
	case PARAM_CURSOR:
		return read_cursor(key, text, slot, err);
	case PARAM_TIME:
		return read_time(key, text, slot, err);
	case PARAM_PATH:
		return read_path(key, text, reader->arena, slot, err);
	case PARAM_REGEX:
	case PARAM_DATASET:
	case PARAM_SNAPSHOT:
		return reader->resolve(reader->arg, param, text, slot, err);
	case PARAM_TYPES:
		break;
	}
	return 0;
}

/*
 * Returns the value that an object has for a parameter, or NULL.  A value that is null counts as
 * absent.
 */
static const struct jsonread *value_of(const struct jsonread *object, const struct param *param)
{
	const struct jsonread *value = object ? jsonread_member(object, param->name) : NULL;

	return value && jsonread_type(value) != JSONREAD_NULL ? value : NULL;
}

static int check_json(const struct param_reader *reader, const struct param *param,
	const struct jsonread *value, struct err *err)
{
	const char *must = kinds[param->type].must;
	enum jsonread_type type = kinds[param->type].type;

	if (value && type != JSONREAD_NULL && jsonread_type(value) != type)
		return must_be(param->name, must, err);
	if (value || !(param->flags & PARAM_REQUIRED))
		return 0;
	if (reader->lenient)
		return err_set(err, ERR_INVALID, "'%s' is missing: %s", param->name, must);
	err_set(err, ERR_INVALID, "%s: '%s' is missing", reader->name, param->name);
	return hint_params(reader->name, reader->params, err);
}

int param_read(const struct param_reader *reader, const struct jsonread *object, struct err *err)
{
	const struct param *params = reader->params;
	const struct jsonread *value;
	int r = 0;

	for (size_t i = 0; !reader->lenient && object && i < jsonread_count(object); i++)
		if (!param_find(params, jsonread_key(object, i).ptr))
			return refuse_unknown_key(
				reader->name, params, jsonread_key(object, i).ptr, err);
	param_defaults(params, reader->request);
	/* Integers are checked after all other types. */
	for (int integers = 0; integers < 2; integers++)
		for (const struct param *param = params; param && param->name; param++)
			if ((kinds[param->type].type == JSONREAD_INT) == integers &&
				(r = check_json(reader, param, value_of(object, param), err)) < 0)
				return r;
	for (int type = 0; type < PARAM_TYPES; type++)
		for (const struct param *param = params; param && param->name; param++)
			if (param->type == type && (value = value_of(object, param)) &&
				(r = read_value(reader, param, value, err)) < 0)
				return r;
	return 0;
}

/* ----------------------------------------------------------- from KEY=VALUE */

/*
 * Write a value that a person typed.  It is written as JSON if it can be read as JSON, else as a
 * string.  If the parameter is a string, only a value in quotes is read as JSON, since a name may
 * be all digits.  A PARAM_TEXT is always written as typed.
 */
static void add_value(
	struct json *out, const char *key, const struct param *param, const char *value)
{
	bool text = param && kinds[param->type].type == JSONREAD_STRING &&
		    (param->type == PARAM_TEXT || value[0] != '"');

	if (text)
		json_str(out, key, str_of(value));
	else
		jsonread_write_text(out, key, str_of(value));
}

/*
 * Write the list of all values of a key that may be given several times.  If the first value is
 * itself a JSON list or object, that value is written instead of the list.
 */
static void add_list(
	struct json *out, const char *key, const struct param_texts *pairs, const char *first)
{
	size_t len = strlen(key);

	if (first[0] == '[' || first[0] == '{') {
		jsonread_write_text(out, key, str_of(first));
		return;
	}
	json_open(out, key, '[');
	for (size_t i = 0; i < pairs->count; i++)
		if (!strncmp(pairs->list[i], key, len) && pairs->list[i][len] == '=')
			json_str(out, NULL, str_of(pairs->list[i] + len + 1));
	json_close(out);
}

/* Whether an earlier pair has the same key. */
static bool is_repeated(const struct param_texts *pairs, size_t at, size_t len)
{
	for (size_t i = 0; i < at; i++)
		if (!strncmp(pairs->list[i], pairs->list[at], len + 1))
			return true;
	return false;
}

int param_add_pairs(const char *name, const struct param *params, const struct param_texts *pairs,
	struct json *out, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };

	for (size_t i = 0; i < pairs->count; i++) {
		const char *pair = pairs->list[i];
		const char *equals = strchr(pair, '=');

		if (!equals || equals == pair)
			return err_set(err, ERR_USAGE, "'%.100s' is not KEY=VALUE", pair);
		size_t len = (size_t)(equals - pair);
		const char *key = arena_str(&arena, (struct str){ pair, len }).ptr;
		const struct param *param = param_find(params, key);
		bool many = param && param->type == PARAM_TEXTS;
		if (!param && name)
			return refuse_unknown_key(name, params, key, err);
		if (is_repeated(pairs, i, len)) {
			if (many)
				continue;
			return err_set(err, ERR_USAGE, "'%s' is given twice", key);
		}
		if (many)
			add_list(out, key, pairs, equals + 1);
		else
			add_value(out, key, param, equals + 1);
	}
	return 0;
}

/* ------------------------------------------------------------------ to JSON */

static void write_value(struct json *out, const struct param *param, const void *slot)
{
	switch (param->type) {
	case PARAM_FLAG:
		if (*(const bool *)slot)
			json_bool(out, param->name, true);
		return;
	case PARAM_COUNT:
	case PARAM_BYTES:
		/*
		 * A value equal to the default is left out, since param_read fills in the default.
		 */
		if (*(const int64_t *)slot && *(const int64_t *)slot != param->fallback)
			json_int(out, param->name, *(const int64_t *)slot);
		return;
	case PARAM_TEXTS: {
		const struct param_texts *texts = slot;

		if (texts->count)
			json_texts(out, param->name, texts->list, texts->count);
		return;
	}
	default:
		if (*(const char *const *)slot)
			json_text(out, param->name, *(const char *const *)slot);
	}
}

void param_write(struct json *out, const char *key, const struct param *params, const void *request)
{
	json_open(out, key, '{');
	for (const struct param *param = params; param && param->name; param++)
		write_value(out, param, (const char *)request + param->offset);
	json_close(out);
}
