#include "owner/errand.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/own.h"

/* The first part of the document; the second is the request. */
static const struct param params_written[] = {
	PARAM(errand, root, TEXT, PARAM_REQUIRED, "where the environment is"),
	PARAM(errand, workspace, TEXT, PARAM_REQUIRED, "the workspace"),
	PARAM(errand, json, FLAG, 0, "print the result as JSON"),
	PARAM(errand, jsonl, FLAG, 0, "print each row as a line of JSON"),
	PARAM(errand, umask, COUNT, 0, "of the files that are made"),
	PARAM(errand, env, TEXTS, 0, "the variables of the process"),
	{ 0 },
};

int errand_write(const struct errand *errand, const struct param *params, const void *request,
	struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	owned_fd int fd = memfd_create("strata-errand", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "make a file in memory");
	json_open(&out, NULL, '[');
	param_write(&out, NULL, params_written, errand);
	param_write(&out, NULL, params, request);
	json_close(&out);
	if (out.out.len > ERRAND_MAX) {
		err_set(err, ERR_LIMIT,
			"arguments and variables take more than %zu MiB on the way to the owner",
			ERRAND_MAX >> 20);
		return err_hint(err, "pass long texts in files, or end the owner first");
	}
	errno = -at_write_all(fd, out.out.data, out.out.len);
	return errno ? err_errno(err, "write a file in memory") : take_fd(&fd);
}

static int read_file(int fd, struct arena *arena, struct str *text, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "look at the request");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > ERRAND_MAX)
		return err_set(err, ERR_LIMIT, "the request must be a file of at most %zu bytes",
			ERRAND_MAX);
	char *bytes = arena_alloc(arena, (size_t)st.st_size + 1);
	ssize_t n = at_pread_full(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0) {
		errno = (int)-n;
		return err_errno(err, "read the request");
	}
	*text = (struct str){ bytes, (size_t)n };
	return 0;
}

int errand_read(int fd, struct arena *arena, struct jsonread **document, struct errand *errand,
	struct err *err)
{
	struct param_reader reader = {
		.name = "relay",
		.params = params_written,
		.arena = arena,
		.request = errand,
	};
	struct str text;
	int r = read_file(fd, arena, &text, err);

	if (r < 0)
		return r;
	*document = jsonread_new_max(text, ERRAND_MAX, err);
	if (!*document)
		return -(int)err->code;
	if (jsonread_count(*document) != 2)
		return err_set(err, ERR_INVALID, "the request must be a list of two objects");
	errand->request = jsonread_item(*document, 1);
	return param_read(&reader, jsonread_item(*document, 0), err);
}
