#include "ops/op_read.h"

#include <string.h>

#include "core/own.h"
#include "core/text.h"

static int wrong(const char *key, const char *wanted, struct err *err)
{
	return err_set(err, ERR_USAGE, "'%s' must be %s", key, wanted);
}

int op_read_text(const char *key, const struct jsonread *value, struct arena *arena,
	const char **text, struct err *err)
{
	if (jsonread_type(value) != JSONREAD_STRING)
		return wrong(key, "a string", err);
	struct str bytes = jsonread_str(value);
	if (memchr(bytes.ptr, 0, bytes.len))
		return wrong(key, "a string without NUL", err);
	*text = arena_str(arena, bytes).ptr;
	return 0;
}

int op_read_texts(const char *key, const struct jsonread *value, struct arena *arena,
	struct op_texts *texts, struct err *err)
{
	bool object = jsonread_type(value) == JSONREAD_OBJECT;
	bool many = object || jsonread_type(value) == JSONREAD_ARRAY;
	size_t n = many ? jsonread_count(value) : 1;

	texts->list = arena_alloc(arena, (n + 1) * sizeof(*texts->list));
	for (texts->count = 0; texts->count < n; texts->count++) {
		const struct jsonread *item = many ? jsonread_item(value, texts->count) : value;
		const char **text = &texts->list[texts->count];

		if (op_read_text(key, item, arena, text, err) < 0)
			return wrong(key, "a list of strings", err);
		if (object)
			*text = arena_printf(
				arena, "%s=%s", jsonread_key(value, texts->count).ptr, *text);
	}
	return 0;
}

static int read_count(
	const char *key, const struct jsonread *value, int64_t *count, struct err *err)
{
	if (jsonread_type(value) != JSONREAD_INT || jsonread_int(value) <= 0)
		return wrong(key, "a positive number", err);
	*count = jsonread_int(value);
	return 0;
}

/* A number, or a text with a unit as on the command line. */
static int read_bytes(
	const char *key, const struct jsonread *value, uint64_t *bytes, struct err *err)
{
	char text[32];

	if (jsonread_type(value) == JSONREAD_INT && jsonread_int(value) > 0) {
		*bytes = (uint64_t)jsonread_int(value);
		return 0;
	}
	if (jsonread_type(value) == JSONREAD_STRING && jsonread_str(value).len < sizeof(text)) {
		struct str given = jsonread_str(value);

		memcpy(text, given.ptr, given.len);
		text[given.len] = '\0';
		if (text_parse_size(text, bytes) && *bytes)
			return 0;
	}
	return wrong(key, "a size such as 500M", err);
}

static int read_param(const struct op_param *param, const struct jsonread *value,
	struct arena *arena, char *slot, struct err *err)
{
	switch (param->type) {
	case OP_FLAG:
		if (jsonread_type(value) != JSONREAD_BOOL)
			return wrong(param->name, "true or false", err);
		*(bool *)slot = jsonread_bool(value);
		return 0;
	case OP_COUNT:
		return read_count(param->name, value, (int64_t *)(void *)slot, err);
	case OP_BYTES:
		return read_bytes(param->name, value, (uint64_t *)(void *)slot, err);
	case OP_TEXTS:
		return op_read_texts(
			param->name, value, arena, (struct op_texts *)(void *)slot, err);
	default:
		return op_read_text(param->name, value, arena, (const char **)(void *)slot, err);
	}
}

static const struct op_param *find_param(const struct op *op, const char *name)
{
	for (const struct op_param *param = op->params; param && param->name; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

const char *op_read_wants(const struct op_param *param)
{
	static const char *const wants[] = {
		[OP_TEXT] = "TEXT",
		[OP_FLAG] = "true|false",
		[OP_COUNT] = "NUMBER",
		[OP_BYTES] = "SIZE",
		[OP_TEXTS] = "TEXT...",
	};

	return wants[param->type];
}

int op_read_hint(const char *name, const struct op_param *params, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (const struct op_param *param = params; param && param->name; param++)
		buf_addf(&text, "%s%s%s", text.len ? ", " : "", param->name,
			param->flags & OP_REQUIRED ? " (needed)" : "");
	if (!text.len)
		return err_hint(err, "%s has no parameters", name);
	return err_hint(err, "parameters of %s: %s", name, text.data);
}

int op_read(const struct op *op, const struct jsonread *params, struct arena *arena, void *request,
	struct err *err)
{
	uint64_t given = 0;

	for (size_t i = 0; params && i < jsonread_count(params); i++) {
		const char *key = jsonread_key(params, i).ptr;
		const struct jsonread *value = jsonread_item(params, i);
		const struct op_param *param = find_param(op, key);

		if (!param) {
			err_set(err, ERR_USAGE, "%s has no parameter '%.100s'", op->name, key);
			return op_read_hint(op->name, op->params, err);
		}
		if (jsonread_type(value) == JSONREAD_NULL)
			continue;
		if (read_param(param, value, arena, (char *)request + param->offset, err) < 0)
			return -(int)err->code;
		given |= UINT64_C(1) << (param - op->params);
	}
	for (const struct op_param *param = op->params; param && param->name; param++)
		if (param->flags & OP_REQUIRED && !(given >> (param - op->params) & 1)) {
			err_set(err, ERR_USAGE, "%s: '%s' is missing", op->name, param->name);
			return op_read_hint(op->name, op->params, err);
		}
	return 0;
}
