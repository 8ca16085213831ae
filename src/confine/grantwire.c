#include "confine/grantwire.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/own.h"

#define SHOWN_ARGUMENTS 16 /* largest number of the command's arguments in an answer */
#define SHOWN_BYTES 256    /* largest number of bytes of each of these arguments */

static const struct param params[] = {
	PARAM(grantwire_request, path, TEXT, 0, "the file or directory"),
	PARAM(grantwire_request, host, TEXT, 0, "the host"),
	PARAM(grantwire_request, mode, TEXT, 0, "read or write"),
	PARAM(grantwire_request, pid, COUNT, 0, "a process of the command"),
	PARAM(grantwire_request, command, TEXT, 0, "the name of the command"),
	PARAM(grantwire_request, revoke, FLAG, 0, "take a grant back"),
	{ 0 },
};

/* ---------------------------------------------- reading and writing requests */

static bool is_odd(struct str name)
{
	return !name.len || str_eq(name, STR(".")) || str_eq(name, STR(".."));
}

static int check_path(const char *path, struct err *err)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "'%.200s' is no absolute path", path);
	if (!path[1])
		return err_set(err, ERR_INVALID, "'/' is not granted as a whole");
	for (const char *name = path; *name;) {
		size_t len = strcspn(++name, "/");

		if (is_odd((struct str){ name, len }))
			return err_set(err, ERR_INVALID,
				"'%.200s' has an empty name, '.' or '..' in it", path);
		name += len;
	}
	return 0;
}

int grantwire_check(const struct grantwire_request *request, struct err *err)
{
	const char *mode = request->mode;

	if (!request->path == !request->host)
		return err_set(err, ERR_USAGE, "either 'path' or 'host' is needed");
	if (mode && strcmp(mode, "read") != 0 && strcmp(mode, "write") != 0)
		return err_set(err, ERR_INVALID, "'mode' must be 'read' or 'write'");
	if (mode && (request->host || request->revoke))
		return err_set(err, ERR_USAGE, "'mode' goes with 'path', and with 'grant'");
	return request->path ? check_path(request->path, err) : 0;
}

void grantwire_write_request(struct json *out, const struct grantwire_request *request)
{
	param_write(out, NULL, params, request);
}

int grantwire_read_request(
	struct str text, struct arena *arena, struct grantwire_request *out, struct err *err)
{
	const struct param_reader reader = {
		.name = "grant",
		.params = params,
		.arena = arena,
		.request = out,
	};
	owned(jsonread_freep) struct jsonread *root = jsonread_new_max(text, GRANTWIRE_MAX, err);

	if (!root)
		return -(int)err->code;
	if (jsonread_type(root) != JSONREAD_OBJECT)
		return err_set(err, ERR_INVALID, "a request must be an object");
	*out = (struct grantwire_request){ 0 };
	return param_read(&reader, root, err) < 0 ? -(int)err->code : grantwire_check(out, err);
}

/* ----------------------------------------------- reading and writing answers */

void grantwire_write_answer(struct json *out, const struct grantwire_answer *answer)
{
	json_open(out, NULL, '{');
	json_bool(out, "selected", answer->selected);
	json_bool(out, "changed", answer->changed);
	if (answer->rule)
		json_text(out, "rule", answer->rule);
	json_open(out, "argv", '[');
	for (size_t i = 0; i < answer->argv.count && i < SHOWN_ARGUMENTS; i++) {
		struct str text = str_of(answer->argv.list[i]);

		text.len = text.len < SHOWN_BYTES ? text.len : SHOWN_BYTES;
		json_str(out, NULL, text);
	}
	json_close(out);
	if (answer->err.code) {
		json_int(out, "code", answer->err.code);
		json_str(out, "error", str_of(answer->err.text));
		json_str(out, "hint", str_of(answer->err.hint));
	}
	json_close(out);
}

static void read_error(const struct jsonread *root, int64_t code, struct err *out)
{
	struct str text = STR(""), hint = STR("");

	(void)jsonread_get_str(root, "error", &text);
	(void)jsonread_get_str(root, "hint", &hint);
	out->code = code > 0 && code <= ERR_USAGE ? (enum err_code)code : ERR_SYSTEM;
	snprintf(out->text, sizeof(out->text), "%.*s", (int)text.len, text.ptr);
	snprintf(out->hint, sizeof(out->hint), "%.*s", (int)hint.len, hint.ptr);
}

int grantwire_read_answer(
	struct str text, struct arena *arena, struct grantwire_answer *out, struct err *err)
{
	owned(jsonread_freep) struct jsonread *root = jsonread_new_max(text, GRANTWIRE_MAX, err);
	const struct jsonread *argv = root ? jsonread_member(root, "argv") : NULL;
	struct str rule;
	int64_t code;

	if (!root)
		return -(int)err->code;
	*out = (struct grantwire_answer){ 0 };
	if (jsonread_get_bool(root, "selected", &out->selected) != JSONREAD_FOUND ||
		jsonread_get_bool(root, "changed", &out->changed) != JSONREAD_FOUND || !argv)
		return err_set(err, ERR_INVALID, "an answer lacks a member");
	if (jsonread_get_str(root, "rule", &rule) == JSONREAD_FOUND)
		out->rule = arena_str(arena, rule).ptr;
	if (jsonread_get_int(root, "code", &code) == JSONREAD_FOUND)
		read_error(root, code, &out->err);
	return param_read_texts("argv", argv, arena, &out->argv, err);
}
