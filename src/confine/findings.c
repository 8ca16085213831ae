#include "confine/findings.h"

#include <errno.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"

#define REPORT_MAX ((size_t)64 << 20)

int findings_write(const struct findings_report *report, int file, struct err *err)
{
	owned(buf_release) struct buf text = BUF_INIT;

	buf_add(&text, report->home, strlen(report->home) + 1);
	for (const char *const *one = report->variables; one && *one; one++)
		buf_add(&text, *one, strlen(*one) + 1);
	buf_addc(&text, '\0');
	buf_add(&text, report->lacks->data ?: "", report->lacks->len);
	buf_addc(&text, '\0');
	planning_write(report->planning, &text);
	errno = -at_write_all(file, text.data, text.len);
	return errno ? err_errno(err, "report what the policy stands for") : 0;
}

static const char *take_text(struct str *text, struct arena *arena)
{
	size_t len = strnlen(text->ptr, text->len);

	if (len == text->len)
		return NULL;
	const char *taken = arena_strdup(arena, text->ptr);
	text->ptr += len + 1;
	text->len -= len + 1;
	return taken;
}

static int read_text(struct str text, const struct policy *policy, const char *workspace,
	struct arena *arena, struct findings *out, struct err *err)
{
	struct policy_place place = { .workspace = workspace };
	const char *variable;

	*out = (struct findings){ 0 };
	place.home = take_text(&text, arena);
	while ((variable = take_text(&text, arena)) && *variable)
		param_texts_add(&out->variables, arena, variable);
	out->lacks = take_text(&text, arena);
	if (!place.home || !out->lacks)
		return err_set(err, ERR_SYSTEM, "the report of the warden was cut off");
	if (policy_resolve(policy, &place, arena, &out->policy, err) < 0)
		return -(int)err->code;
	return planning_read(text, &out->policy, arena, &out->planning, err);
}

int findings_read(int file, const struct policy *policy, const char *workspace, struct arena *arena,
	struct findings *out, struct err *err)
{
	struct statx stx;

	if (at_fd_stat(file, &stx) < 0 || stx.stx_size > REPORT_MAX)
		return err_set(err, ERR_LIMIT, "the policy stands for too many files");
	char *text = arena_alloc(arena, stx.stx_size + 1);
	if (at_pread_full(file, text, stx.stx_size, 0) != (ssize_t)stx.stx_size)
		return err_set(err, ERR_SYSTEM, "the report of the warden cannot be read");
	return read_text((struct str){ text, stx.stx_size }, policy, workspace, arena, out, err);
}
