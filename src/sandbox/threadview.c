#include "sandbox/threadview.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/procfile.h"

#define PAGE 4096
#define STATUS_MAX ((size_t)64 << 10)

size_t threadview_memory(pid_t tid, uint64_t address, void *out, size_t len)
{
	struct iovec here = { out, len };
	struct iovec there = { (void *)(uintptr_t)address, len };
	ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);

	if (n >= 0 && (size_t)n < len)
		errno = EFAULT;
	return n < 0 ? 0 : (size_t)n;
}

bool threadview_bytes(pid_t tid, uint64_t address, void *out, size_t len)
{
	return threadview_memory(tid, address, out, len) == len;
}

ssize_t threadview_text(pid_t tid, uint64_t address, char *out)
{
	size_t have = 0;

	/* Read page by page, since the page after the end of the text may not exist. */
	while (have < PATH_MAX) {
		size_t len = PAGE - (address + have) % PAGE;

		/* Most paths are short, so less than a page is copied at first. */
		if (!have && len > 256)
			len = 256;
		if (len > PATH_MAX - have)
			len = PATH_MAX - have;
		if (!threadview_bytes(tid, address + have, out + have, len))
			return -1;
		const char *end = memchr(out + have, '\0', len);
		if (end)
			return end - out;
		have += len;
	}
	return -1;
}

ssize_t threadview_link(pid_t tid, const char *name, char *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	return at_abs_readlink(path, out, PATH_MAX);
}

ssize_t threadview_link_in(int proc, pid_t tid, const char *name, char *out)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", (int)tid, name);
	ssize_t len = readlinkat(proc, path, out, PATH_MAX); /* by-name: a file of the kernel */
	return len < 0 ? -errno : len;
}

void threadview_process(int proc, pid_t tid, pid_t *pid, pid_t *inside)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err gone = { 0 };
	char path[64];

	*pid = *inside = 0;
	snprintf(path, sizeof(path), "%d/status", (int)tid);
	if (procfile_read_at(proc, path, STATUS_MAX, &text, &gone) < 0 || !text.len)
		return;
	const char *numbers = strstr(text.data, "\nNStgid:");
	if (!numbers)
		return;
	char *end;
	*pid = *inside = (pid_t)strtol(numbers + strlen("\nNStgid:"), &end, 10);
	if (*end == '\t')
		*inside = (pid_t)strtol(end, NULL, 10);
}
