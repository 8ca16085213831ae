#include "sandbox/bindlist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/own.h"

#define LIST_MAX ((size_t)1 << 20) /* further bytes of the list are not read */
#define RECORD_MIN 8 /* bytes of the shortest record: four texts, none of them empty */

int bindlist_new(struct err *err)
{
	owned_fd int list = memfd_create("strata-binds", MFD_CLOEXEC);

	/* Several processes write records to the list, and each write must append one record. */
	if (list < 0 || fcntl(list, F_SETFL, O_APPEND) < 0)
		return err_errno(err, "make the list of binds");
	return take_fd(&list);
}

int bindlist_add(int list, int mnt, const struct bindspecs *binds, struct err *err)
{
	struct stat ns;

	if (fstat(mnt, &ns) < 0)
		return err_errno(err, "look at a mount namespace");
	for (size_t i = 0; i < binds->n; i++) {
		const struct bindspec *bind = &binds->list[i];
		owned(buf_release) struct buf text = BUF_INIT;

		buf_addf(&text, "%llu", (unsigned long long)ns.st_ino);
		buf_add(&text, "", 1);
		buf_add(&text, bind->host, strlen(bind->host) + 1);
		buf_add(&text, bind->inside, strlen(bind->inside) + 1);
		buf_add(&text, bind->read_only ? "ro" : "rw", 3);
		errno = -at_write_all(list, text.data, text.len);
		if (errno)
			return err_errno(err, "note the binds");
	}
	return 0;
}

/*
 * Take the text up to the next zero byte.  There must be a zero byte at 'end', because the last
 * text may have been cut off.
 */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at;

	*at = text < end ? text + strlen(text) + 1 : end;
	return text;
}

int bindlist_read(
	int list, struct arena *arena, struct bindlist_entry **out, size_t *n, struct err *err)
{
	struct stat st;

	*n = 0;
	if (fstat(list, &st) < 0)
		return err_errno(err, "read the list of binds");
	size_t size = (size_t)st.st_size < LIST_MAX ? (size_t)st.st_size : LIST_MAX;
	char *text = arena_alloc(arena, size + 1);
	ssize_t len = at_pread_full(list, text, size, 0);
	if (len < 0)
		return errno = (int)-len, err_errno(err, "read the list of binds");
	*out = arena_alloc(arena, (size / RECORD_MIN + 1) * sizeof(**out));
	for (const char *at = text, *end = text + len; end - at >= RECORD_MIN;) {
		struct bindlist_entry *entry = &(*out)[(*n)++];

		entry->mnt = strtoull(take_text(&at, end), NULL, 10);
		entry->bind.host = take_text(&at, end);
		entry->bind.inside = take_text(&at, end);
		entry->bind.read_only = !strcmp(take_text(&at, end), "ro");
	}
	return 0;
}
