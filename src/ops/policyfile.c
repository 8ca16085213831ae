#include "ops/policyfile.h"

#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"

#define PART_BYTES 16384

static int read_all(int fd, struct buf *text, const char *name, struct err *err)
{
	char part[PART_BYTES];

	while (text->len <= POLICY_SIZE_MAX) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, "%s", name);
		if (!n)
			return 0;
		buf_add(text, part, (size_t)n);
	}
	return err_set(err, ERR_LIMIT, "%s: a policy has at most %zu bytes", name, POLICY_SIZE_MAX);
}

int policyfile_read(const char *file, struct arena *arena, struct policy *out, struct err *err)
{
	bool standard = !strcmp(file, "-");
	const char *name = standard ? "standard input" : file;
	owned(buf_release) struct buf text = BUF_INIT;
	owned_fd int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				   : at_open_given(file, O_RDONLY | O_NOCTTY, 0, err);

	if (fd < 0)
		return standard ? err_errno(err, "%s", name) : fd;
	int r = read_all(fd, &text, name, err);
	return r < 0 ? r
		     : policy_read(
			       (struct str){ text.data ?: "", text.len }, name, arena, out, err);
}
