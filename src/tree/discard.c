#include "tree/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"

#define DEPTH_MAX 16384

struct discard {
	struct scan *scan;
	struct report *report;
	struct buf path; /* path of the directory that is being emptied, with a '/' at the end */
};

static void report_unremoved(struct discard *discard, struct str name, int error)
{
	owned(buf_release) struct buf path = BUF_INIT;

	buf_add(&path, discard->path.data ? discard->path.data : "", discard->path.len);
	buf_add(&path, name.ptr, name.len);
	errno = error;
	report_add(discard->report, REPORT_UNREMOVED, (struct str){ path.data, path.len }, "%m");
}

static int empty_dir(struct discard *discard, int fd, uint32_t id, int depth, struct err *err);

/*
 * Remove the changed files in a subdirectory.  A subdirectory that does not exist any more needs no
 * work.
 */
static int empty_subdir(
	struct discard *discard, int fd, const struct windex_item *item, int depth, struct err *err)
{
	uint32_t id = (uint32_t)item->record.link;
	const struct windex_dir *row = windex_dir(discard->scan->index, id);
	size_t len = discard->path.len;

	if (!(row->flags & WINDEX_DIR_DIRTY) || row->flags & (WINDEX_DIR_GONE | WINDEX_DIR_UNREAD))
		return 0;
	buf_add(&discard->path, item->name.ptr, item->name.len);
	buf_addc(&discard->path, '\0');
	owned_fd int below =
		at_name_open(fd, discard->path.data + len, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	discard->path.data[discard->path.len - 1] = '/';
	int r = below < 0 ? 0 : empty_dir(discard, below, id, depth + 1, err);
	buf_truncate(&discard->path, len);
	return r;
}

static void remove_file(struct discard *discard, int fd, struct str name)
{
	char text[ENTRY_NAME_MAX + 1];

	memcpy(text, name.ptr, name.len);
	text[name.len] = '\0';
	if (unlinkat(fd, text, 0) < 0 && errno != ENOENT)
		report_unremoved(discard, name, errno);
}

static int empty_dir(struct discard *discard, int fd, uint32_t id, int depth, struct err *err)
{
	const struct windex_dir *row = windex_dir(discard->scan->index, id);
	struct windex_reader reader;
	struct windex_item item;
	int r = 0;

	if (depth > DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "directories nested deeper than %d", DEPTH_MAX);
	windex_reader_init(&reader, discard->scan->index);
	windex_reader_begin(&reader, row->segment);
	while (r >= 0 && row->segment && windex_reader_next(&reader, &item) > 0) {
		if (item.record.type == ENTRY_DIR)
			r = empty_subdir(discard, fd, &item, depth, err);
		else if (item.record.type == ENTRY_FILE && item.record.flags & WINDEX_UNHASHED)
			remove_file(discard, fd, item.name);
	}
	windex_reader_release(&reader);
	return r;
}

int discard_changed(struct scan *scan, int fd, struct report *report, struct err *err)
{
	struct discard discard = { .scan = scan, .report = report, .path = BUF_INIT };
	const struct windex_dir *top = windex_dir(scan->index, 0);
	struct windex_reader reader;
	struct windex_item root;

	/* The root is the only entry of pseudo-directory 0. */
	windex_reader_init(&reader, scan->index);
	windex_reader_begin(&reader, top->segment);
	bool found = windex_reader_next(&reader, &root) > 0;
	uint32_t id = found ? (uint32_t)root.record.link : 0;
	windex_reader_release(&reader);
	int r = found ? empty_dir(&discard, fd, id, 1, err)
		      : err_set(err, ERR_CORRUPT, "the workspace index lost its root");
	buf_release(&discard.path);
	return r;
}
