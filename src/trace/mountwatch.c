#include "trace/mountwatch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/buf.h"
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

/* Space, tab, newline and backslash are \ooo there; in place, since it only gets shorter. */
static size_t unescape(char *text, size_t len)
{
	size_t to = 0;

	for (size_t from = 0; from < len; from++) {
		if (text[from] == '\\' && from + 3 < len) {
			char octal[4] = { text[from + 1], text[from + 2], text[from + 3], '\0' };

			text[to++] = (char)strtol(octal, NULL, 8);
			from += 3;
		} else {
			text[to++] = text[from];
		}
	}
	return to;
}

/* "36 35 98:0 /root /mount/point rw,noatime master:1 - fuse.sshfs ..." */
static void look_at_line(char *line, struct pathmap *map, struct reasons *reasons)
{
	char *type = strstr(line, " - ");
	char *point = line;

	for (int field = 0; field < 4 && point; field++) {
		point = strchr(point, ' ');
		point = point ? point + 1 : NULL;
	}
	if (!type || !point || point > type || strncmp(type + 3, "fuse", 4) != 0)
		return;
	struct pathmap_entry *entry =
		pathmap_known(map, (struct str){ point, unescape(point, strcspn(point, " ")) });
	if (entry->untouchable)
		return;
	pathmap_leave_alone(map, entry);
	reasons_add(reasons, "what is in '%s', mounted meanwhile, is not told of", entry->path.ptr);
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
	struct pollfd changed = { .fd = watch->fd, .events = POLLPRI };

	if (!watch->on || poll(&changed, 1, 0) <= 0 || !read_all(watch->fd, &text))
		return;
	for (char *line = text.data, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		look_at_line(line, map, reasons);
	}
}
