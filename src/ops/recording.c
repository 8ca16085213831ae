#include "ops/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/jsonread.h"
#include "core/lock.h"
#include "core/own.h"

static const char *const names[] = {
	[RECORDING_NONE] = "none",
	[RECORDING_UNKNOWN] = "unknown",
	[RECORDING_WATCHING] = "watching",
	[RECORDING_LOOKING] = "looking",
};

const char *recording_mode_name(enum recording_mode mode)
{
	return names[mode];
}

void recording_note(int lock, const struct recording *recording)
{
	owned(json_release) struct json out = JSON_INIT;

	json_open(&out, NULL, '{');
	json_int(&out, "pid", recording->pid);
	json_text(&out, "by", recording->by);
	json_text(&out, "mode", names[recording->mode]);
	json_int(&out, "every", recording->every);
	json_text(&out, "last_node", recording->last_node);
	json_text(&out, "degraded", recording->degraded);
	json_close(&out);
	(void)json_end(&out);
	lock_note(lock, json_written(&out));
}

static const char *member(const struct jsonread *said, const char *name, struct arena *arena)
{
	struct str text;

	return jsonread_get_str(said, name, &text) == JSONREAD_FOUND ? arena_str(arena, text).ptr
								     : NULL;
}

void recording_find(struct env *env, struct arena *arena, struct recording *out)
{
	char name[WORKSPACE_NAME_MAX + sizeof(RECORDING_LOCK)], text[LOCK_NOTE_MAX];
	struct err ignored = { 0 };
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, &ignored);

	*out = (struct recording){ 0 };
	snprintf(name, sizeof(name), "%s" RECORDING_LOCK, env->row.name);
	if (run < 0 || !lock_is_held(run, name, text))
		return;
	out->mode = RECORDING_UNKNOWN;
	owned(jsonread_freep) struct jsonread *said = jsonread_new(str_of(text), &ignored);
	const char *mode = said ? member(said, "mode", arena) : NULL;
	if (!mode)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], mode))
			out->mode = (enum recording_mode)i;
	(void)jsonread_get_int(said, "pid", &out->pid);
	(void)jsonread_get_int(said, "every", &out->every);
	out->by = member(said, "by", arena);
	out->last_node = member(said, "last_node", arena);
	out->degraded = member(said, "degraded", arena);
}
