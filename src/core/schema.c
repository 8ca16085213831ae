#include "core/schema.h"

#include <assert.h>
#include <string.h>

#include "core/own.h"

#define NAME_MAX_LEN 64 /* bytes of a member's name in a shape */

/* ------------------------------------------------------------------ the result */

/*
 * Reads a shape from left to right.  Shapes are part of this program, so a mistake in one is a bug,
 * which assert reports.
 */
struct shape {
	const char *at;
};

static bool take_char(struct shape *shape, char c)
{
	if (*shape->at != c)
		return false;
	shape->at++;
	return true;
}

static void expect(struct shape *shape, char c)
{
	bool found = take_char(shape, c);

	assert(found);
}

static struct str take_word(struct shape *shape)
{
	size_t len = strspn(shape->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
	struct str word = { shape->at, len };

	assert(len > 0 && len < NAME_MAX_LEN);
	shape->at += len;
	return word;
}

static void write_members(struct json *out, struct shape *shape);

/* Write "type": NAME, or "type": [NAME, "null"]. */
static void write_type_name(struct json *out, const char *name, bool or_null)
{
	if (!or_null) {
		json_text(out, "type", name);
		return;
	}
	json_open(out, "type", '[');
	json_text(out, NULL, name);
	json_text(out, NULL, "null");
	json_close(out);
}

/* Returns the end of the type that begins at this position. */
static const char *end_of_type(const char *at)
{
	int depth = 0;

	do {
		depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
		at++;
	} while (depth || (*at && *at != ' ' && *at != ']' && *at != '}' && *at != '?'));
	return at;
}

static void write_type(struct json *out, const char *key, struct shape *shape)
{
	static const struct {
		const char *word, *type;
	} words[] = {
		{ "text", "string" },
		{ "int", "integer" },
		{ "num", "number" },
		{ "bool", "boolean" },
		{ "any", NULL },
	};
	bool or_null = *end_of_type(shape->at) == '?';

	json_open(out, key, '{');
	if (take_char(shape, '[')) {
		write_type_name(out, "array", or_null);
		write_type(out, "items", shape);
		expect(shape, ']');
	} else if (take_char(shape, '{')) {
		write_type_name(out, "object", or_null);
		write_members(out, shape);
		expect(shape, '}');
	} else {
		struct str word = take_word(shape);
		size_t i = 0;

		while (i < sizeof(words) / sizeof(words[0]) && !str_eq(word, str_of(words[i].word)))
			i++;
		assert(i < sizeof(words) / sizeof(words[0]));
		if (words[i].type)
			write_type_name(out, words[i].type, or_null);
	}
	(void)take_char(shape, '?');
	json_close(out);
}

/*
 * Write the properties of the object that is open.  Also write the list of the properties that are
 * always present.
 */
static void write_members(struct json *out, struct shape *shape)
{
	const char *begin = shape->at;

	json_open(out, "properties", '{');
	while (*shape->at && *shape->at != '}') {
		char name[NAME_MAX_LEN] = "";
		struct str word = take_word(shape);

		memcpy(name, word.ptr, word.len);
		(void)take_char(shape, '?');
		expect(shape, ':');
		write_type(out, name, shape);
		while (take_char(shape, ' '))
			;
	}
	json_close(out);
	json_open(out, "required", '[');
	for (struct shape again = { begin }; again.at < shape->at;) {
		struct str word = take_word(&again);

		if (*again.at == ':')
			json_str(out, NULL, word);
		again.at = end_of_type(strchr(again.at, ':') + 1);
		again.at += strspn(again.at, "? ");
	}
	json_close(out);
	json_bool(out, "additionalProperties", false);
}

void schema_result(struct json *out, const char *key, const struct op *op, const char *more)
{
	owned(buf_release) struct buf members = BUF_INIT;

	if (op->rows)
		buf_addf(&members, "%s:[%s] ", op->rows, op->row);
	buf_adds(&members, op->result ?: "");
	buf_addf(&members, " %s", more ?: "");
	struct shape shape = { members.data + strspn(members.data, " ") };
	json_open(out, key, '{');
	json_text(out, "type", "object");
	write_members(out, &shape);
	assert(!*shape.at);
	json_close(out);
}

/* ----------------------------------------------------------------- the request */

void schema_request(struct json *out, const char *key, const struct param *params)
{
	json_open(out, key, '{');
	json_text(out, "type", "object");
	json_open(out, "properties", '{');
	for (const struct param *param = params; param && param->name; param++)
		param_schema(out, param);
	json_close(out);
	json_open(out, "required", '[');
	for (const struct param *param = params; param && param->name; param++)
		if (param->flags & PARAM_REQUIRED)
			json_text(out, NULL, param->name);
	json_close(out);
	json_bool(out, "additionalProperties", false);
	json_close(out);
}

void schema_write(struct json *out, const char *key, const struct op *op)
{
	json_open(out, key, '{');
	json_text(out, "name", op->name);
	json_text(out, "description", op->summary);
	json_bool(out, "read_only", !(op->flags & OP_WRITES));
	json_bool(out, "destructive", op->flags & OP_DESTROYS);
	schema_request(out, "request", op->params);
	schema_result(out, "result", op, NULL);
	json_close(out);
}
