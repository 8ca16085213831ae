#include "owner/relayedop.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/own.h"

/* The members of the first object in the document.  The second object is the request. */
static const struct param params_written[] = {
	PARAM(relayedop, root, TEXT, PARAM_REQUIRED, "the directory of the environment"),
	PARAM(relayedop, workspace, TEXT, PARAM_REQUIRED, "the workspace"),
	PARAM(relayedop, json, FLAG, 0, "print the result as JSON"),
	PARAM(relayedop, jsonl, FLAG, 0, "print each row as a line of JSON"),
	PARAM(relayedop, umask, COUNT, 0, "the umask of the process"),
	PARAM(relayedop, env, TEXTS, 0, "the environment variables of the process"),
	{ 0 },
};

int relayedop_write(const struct relayedop *relayed, const struct param *params,
	const void *request, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	owned_fd int fd = memfd_create("strata-operation", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "make a file in memory");
	json_open(&out, NULL, '[');
	param_write(&out, NULL, params_written, relayed);
	param_write(&out, NULL, params, request);
	json_close(&out);
	struct str text = json_written(&out);
	if (text.len > RELAYEDOP_MAX) {
		err_set(err, ERR_LIMIT,
			"arguments and variables take more than %zu MiB on the way to the owner",
			RELAYEDOP_MAX >> 20);
		return err_hint(err, "pass long texts in files, or end the owner first");
	}
	errno = -at_write_all(fd, text.ptr, text.len);
	return errno ? err_errno(err, "write a file in memory") : take_fd(&fd);
}

static int read_file(int fd, struct arena *arena, struct str *text, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "read the request");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > RELAYEDOP_MAX)
		return err_set(err, ERR_LIMIT, "the request must be a file of at most %zu bytes",
			RELAYEDOP_MAX);
	char *bytes = arena_alloc(arena, (size_t)st.st_size + 1);
	ssize_t n = at_pread_full(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return err_number(err, (int)-n, "read the request");
	*text = (struct str){ bytes, (size_t)n };
	return 0;
}

int relayedop_read(int fd, struct arena *arena, struct jsonread **document,
	struct relayedop *relayed, struct err *err)
{
	struct param_reader reader = {
		.name = "relay",
		.params = params_written,
		.arena = arena,
		.request = relayed,
	};
	struct str text;

	if (read_file(fd, arena, &text, err) < 0)
		return -(int)err->code;
	*document = jsonread_new_max(text, RELAYEDOP_MAX, err);
	if (!*document)
		return -(int)err->code;
	if (jsonread_count(*document) != 2)
		return err_set(err, ERR_INVALID, "the request must be a list of two objects");
	relayed->request = jsonread_item(*document, 1);
	return param_read(&reader, jsonread_item(*document, 0), err);
}
