#include "trace/observe/mountwatch.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mountinfo.h"
#include "core/own.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define READ_AT_ONCE ((size_t)64 << 10)

void mountwatch_init(struct mountwatch *watch)
{
	struct err ignored = { 0 };

	*watch = (struct mountwatch){ .fd = at_open_given(MOUNTINFO, O_RDONLY, 0, &ignored) };
}

void mountwatch_release(struct mountwatch *watch)
{
	close_fd(&watch->fd);
}

void mountwatch_begin(struct mountwatch *watch)
{
	watch->on = true;
}

static void check_mount(const struct mountinfo *mount, struct pathmap *map, struct reasons *reasons)
{
	if (strncmp(mount->type, "fuse", 4))
		return;
	struct pathmap_entry *entry = pathmap_known(map, str_of(mount->point));
	if (entry->untouchable)
		return;
	pathmap_leave_alone(map, entry);
	reasons_add(reasons, "files in '%s', which was mounted meanwhile, are not recorded",
		entry->path.ptr);
}

static bool read_all(int fd, struct buf *text)
{
	ssize_t n;

	do {
		char *room = buf_reserve(text, READ_AT_ONCE);

		n = room ? at_pread_full(fd, room, READ_AT_ONCE, text->len) : -1;
		text->len += n > 0 ? (size_t)n : 0;
	} while (n == (ssize_t)READ_AT_ONCE);
	if (text->data)
		text->data[text->len] = '\0';
	return n >= 0;
}

void mountwatch_look(struct mountwatch *watch, struct pathmap *map, struct reasons *reasons)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct mountinfo mount;
	struct pollfd changed = { .fd = watch->fd, .events = POLLPRI };

	if (!watch->on || poll(&changed, 1, 0) <= 0 || !read_all(watch->fd, &text))
		return;
	for (char *rest = text.data; mountinfo_next(&rest, &mount);)
		check_mount(&mount, map, reasons);
}
