#include "rpc/hostreply.h"

#include <errno.h>
#include <string.h>

#include "core/errcode.h"
#include "core/jsonread.h"
#include "core/own.h"

#define ID_DIGITS_MAX 19 /* maximum length of an id, so that the number fits into 64 bits */

/* Read a whole number that is not negative. */
static bool read_id(struct str text, uint64_t *id)
{
	*id = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		*id = *id * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	return text.len && text.len <= ID_DIGITS_MAX;
}

bool hostreply_read(struct str line, struct hostreply *reply)
{
	struct jsonread_parts parts;
	struct err ignored = { 0 };
	struct str key, part;
	bool has_id = false, has_value = false;
	int r = jsonread_parts_init(&parts, line, &ignored);

	*reply = (struct hostreply){ 0 };
	if (r < 0 || !parts.object)
		return false;
	while ((r = jsonread_parts_next(&parts, &key, &part, &ignored)) > 0) {
		if (str_eq(key, STR("id"))) {
			has_id = read_id(part, &reply->id);
		} else if (str_eq(key, STR("result")) || str_eq(key, STR("error"))) {
			has_value = part.len > 0;
			reply->failed = *key.ptr == 'e';
			reply->value = part;
		}
	}
	return r == 0 && has_id && has_value;
}

static int code_of(int64_t code)
{
	switch (code) {
	case RPC_PARAMS:
		return ERR_INVALID;
	case RPC_NO_METHOD:
		return ERR_USAGE;
	case RPC_QUERY_NO_PATH:
		return ERR_NOT_FOUND;
	default:
		return ERR_SYSTEM;
	}
}

int hostreply_error(const char *host, struct str value, struct buf *data, struct err *err)
{
	owned(jsonread_freep) struct jsonread *error = jsonread_new_max(value, value.len, err);
	const struct jsonread *more = NULL;
	struct str message = STR("it gives no reason"), hint = { 0 };
	int64_t code = RPC_INTERNAL;

	if (!error)
		return err_context(err, "host '%s'", host);
	(void)jsonread_get_str(error, "message", &message);
	(void)jsonread_get_int(error, "code", &code);
	/* The message of an error of the connection already names the host. */
	err_set(err, code_of(code), "%.*s", (int)(message.len < 480 ? message.len : 480),
		message.ptr);
	if (!str_starts(message, STR("host '")))
		err_context(err, "host '%s'", host);
	if (code == RPC_QUERY_ENDED)
		err->errno_value = ETIMEDOUT;
	(void)jsonread_get_object(error, "data", &more);
	if (more && jsonread_get_str(more, "hint", &hint) == JSONREAD_FOUND)
		err_hint(err, "%.*s", (int)(hint.len < 250 ? hint.len : 250), hint.ptr);
	if (more && data) {
		struct str raw = jsonread_raw(more, value);

		if (raw.len > 2)
			buf_add(data, raw.ptr + 1, raw.len - 2);
	}
	return -(int)err->code;
}
