/*
 * A manifest of unknown origin is either refused or has the properties that bundle.h promises:
 * absolute, plain, sorted and unique paths, strings with their true length, and states with all
 * claimed members.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "trace/bundle/bundle.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_path(struct str path)
{
	struct str rest = path, name;
	size_t len = 0;

	must(path.len && path.ptr[0] == '/' && strlen(path.ptr) == path.len);
	while ((name = str_take_name(&rest)).len) {
		must(!str_eq(name, STR(".")) && !str_eq(name, STR("..")));
		len += 1 + name.len;
	}
	must(len == path.len || path.len == 1);
}

static void check_state(const struct bundle_state *state)
{
	must(state->exists || !state->has);
	must(!(state->has & BUNDLE_HAS_BLOB) || state->blob.ptr[state->blob.len] == '\0');
	must(!(state->has & BUNDLE_HAS_TARGET) || strlen(state->target.ptr) == state->target.len);
	must(state->mode <= 07777);
	must(*bundle_type_name(state->type));
	for (size_t i = 0; i < state->n_xattrs; i++)
		must(state->xattrs[i].name && state->xattrs[i].value.ptr);
	for (size_t i = 0; i < state->n_links; i++)
		must(state->links[i].ptr[state->links[i].len] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	owned(bundle_closep) struct bundle *bundle =
		bundle_parse((struct str){ (const char *)data, size }, &err);

	if (!bundle) {
		must(err.code == ERR_CORRUPT || err.code == ERR_LIMIT ||
			err.code == ERR_UNSUPPORTED); /* error for a manifest of a newer format */
		return 0;
	}
	for (size_t i = 0; i < bundle->n_command; i++)
		must(bundle->command[i].ptr[bundle->command[i].len] == '\0');
	must(strlen(bundle->start_cwd.ptr) == bundle->start_cwd.len);
	for (size_t i = 0; i < bundle->n_files; i++) {
		const struct bundle_file *file = &bundle->files[i];

		check_path(file->path);
		check_state(&file->state[BUNDLE_BEFORE]);
		check_state(&file->state[BUNDLE_AFTER]);
		must(!i || str_cmp(bundle->files[i - 1].path, file->path) < 0);
		must(bundle_find(bundle, file->path) == file);
		must(bundle_is_changed(file) || !bundle_compare(file));
	}
	return 0;
}
