#include "ops/tracedir.h"

#include <fcntl.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/bundles.h"

const struct param tracedir_params[] = {
	TRACEDIR_PARAM(bundle_request),
	{ 0 },
};

struct bundle *tracedir_open(const char *dir, struct err *err)
{
	owned_fd int fd = at_open_given(dir, O_RDONLY | O_DIRECTORY, 0, err);
	struct bundle *bundle = fd < 0 ? NULL : bundle_open(fd, err);

	if (fd >= 0 && !bundle)
		(void)err_context(err, "'%s'", dir);
	return bundle;
}

static void add_names(struct buf *out, struct str path)
{
	struct str name;

	while ((name = str_take_name(&path)).len) {
		const char *slash = out->len ? memrchr(out->data, '/', out->len) : NULL;

		if (str_eq(name, STR(".")))
			continue;
		if (str_eq(name, STR(".."))) {
			buf_truncate(out, slash ? (size_t)(slash - out->data) : 0);
			continue;
		}
		buf_addc(out, '/');
		buf_add(out, name.ptr, name.len);
	}
}

struct str tracedir_path(const struct bundle *bundle, const char *text, struct arena *arena)
{
	owned(buf_release) struct buf path = BUF_INIT;

	if (*text != '/')
		add_names(&path, bundle->start_cwd);
	add_names(&path, str_of(text));
	return arena_str(arena, path.len ? (struct str){ path.data, path.len } : STR("/"));
}

bool tracedir_is_below(struct str path, struct str top)
{
	if (top.len == 1)
		return true;
	return str_starts(path, top) && (path.len == top.len || path.ptr[top.len] == '/');
}

void tracedir_state_json(struct json *out, const char *key, const struct bundle_state *state)
{
	char hex[HASH_HEX];

	json_open(out, key, '{');
	json_bool(out, "exists", state->exists);
	if (state->tombstone)
		json_bool(out, "tombstone", true);
	if (state->exists)
		json_text(out, "type", bundle_type_name(state->type));
	if (state->has & BUNDLE_HAS_MODE)
		json_uint(out, "mode", state->mode);
	if (state->has & BUNDLE_HAS_MTIME)
		json_int(out, "mtime", when_seconds(state->mtime));
	if (state->has & BUNDLE_HAS_MTIME_NS)
		json_int(out, "mtime_ns", state->mtime);
	if (state->has & BUNDLE_HAS_SIZE)
		json_uint(out, "size", state->size);
	if (state->has & BUNDLE_HAS_UID)
		json_uint(out, "uid", state->uid);
	if (state->has & BUNDLE_HAS_GID)
		json_uint(out, "gid", state->gid);
	if (state->has & BUNDLE_HAS_TARGET)
		json_str(out, "target", state->target);
	if (state->has & BUNDLE_HAS_HASH)
		json_text(out, "sha256", hash_hex(&state->sha256, hex));
	if (state->has & BUNDLE_HAS_BLOB)
		json_str(out, "blob", state->blob);
	json_close(out);
}
