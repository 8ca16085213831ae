#include "worker/fileops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/place.h"
#include "core/text.h"
#include "core/when.h"
#include "worker/frame.h"

#define TRIES_MAX 5 /* an edit is tried this many times if other programs replace the file */
#define NAMES_MAX 100

/* -------------------------------------------------------------------- read */

/*
 * Read bytes, beginning at the offset in the request: as many as the request asks for, but at most
 * FRAME_MAX.
 */
static int read_some(const struct gate_file *file, const struct wire_request *request,
	struct arena *arena, struct str *out, struct err *err)
{
	uint64_t offset = request->offset > 0 ? (uint64_t)request->offset : 0;
	uint64_t size = (uint64_t)file->st.st_size, want = FRAME_MAX;

	if (request->max_bytes >= 0 && (uint64_t)request->max_bytes < want)
		want = (uint64_t)request->max_bytes;
	/* Files in /proc have the size 0. */
	if (size && offset < size && size - offset < want)
		want = size - offset;
	if (offset > INT64_MAX - FRAME_MAX)
		want = 0;
	char *bytes = arena_alloc(arena, want + 1);
	ssize_t n = want ? at_pread_full(file->fd, bytes, want, offset) : 0;
	if (n < 0)
		return err_number(err, (int)-n, "read '%s'", file->path);
	*out = (struct str){ bytes, (size_t)n };
	return 0;
}

/*
 * Returns the length of a text without an incomplete last character.  Only a character of several
 * bytes can be incomplete.
 */
static size_t whole_characters(struct str text)
{
	for (size_t back = 1; back <= 3 && back <= text.len; back++) {
		unsigned char c = (unsigned char)text.ptr[text.len - back];

		if (c < 0x80)
			break;
		if (c >= 0xc0)
			return text.len - back;
	}
	return text.len;
}

/*
 * Returns the encoding in which the content is sent: 'wanted', or base64 if UTF-8 is wanted and the
 * content is not UTF-8.  If 'cut' is set, an incomplete character at the end is left out of the
 * content, and a later request gets it.
 */
static enum wire_encoding encoding_of(struct str *content, bool cut, enum wire_encoding wanted)
{
	struct str whole = *content;

	if (wanted != WIRE_UTF8 || text_is_utf8(whole))
		return wanted;
	whole.len = cut ? whole_characters(whole) : whole.len;
	if (whole.len == content->len || !whole.len || !text_is_utf8(whole))
		return WIRE_BASE64;
	*content = whole;
	return WIRE_UTF8;
}

int fileops_read(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;
	struct str content;
	int r = gate_open(ops->gate, request->path, GATE_CONTENT, &file, err);

	if (r >= 0)
		r = read_some(&file, request, ops->arena, &content, err);
	if (r < 0)
		return r;
	uint64_t end = (uint64_t)(request->offset > 0 ? request->offset : 0) + content.len;
	bool more = end < (uint64_t)file.st.st_size;
	enum wire_encoding encoding = encoding_of(&content, more, request->encoding);
	size_t fits = wire_content_fits(content, encoding, ops->room);
	uint64_t asked = request->max_bytes >= 0 ? (uint64_t)request->max_bytes : UINT64_MAX;
	*reply = (struct wire_reply){
		.kind = WIRE_READ,
		.content = { content.ptr, fits },
		.encoding = encoding,
		.truncated = fits < content.len || (more && content.len < asked),
	};
	return 0;
}

/* -------------------------------------------------------------------- stat */

int fileops_stat(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;
	int r = gate_open(ops->gate, request->path, GATE_ITSELF, &file, err);

	if (r < 0)
		return r;
	bool dir = S_ISDIR(file.st.st_mode);
	*reply = (struct wire_reply){
		.kind = WIRE_STAT,
		.size = dir ? 0 : (uint64_t)file.st.st_size,
		.is_dir = dir,
		.is_symlink = S_ISLNK(file.st.st_mode),
		.has_mode = true,
		.mode = file.st.st_mode & 07777,
		.mtime = file.st.st_mtim.tv_sec,
	};
	return 0;
}

/* -------------------------------------------------------- replacing a file */

/* A new file that will be renamed to its place when it is complete. */
struct draft {
	const struct gate_place *place;
	bool replaces;
	struct statx old; /* attributes of the file to be replaced */
	char name[64];
	int fd;
};

static void drop_draft(struct draft *draft)
{
	if (draft->fd < 0)
		return;
	close_fd(&draft->fd);
	(void)unlinkat(draft->place->dir, draft->name, 0);
}

static int draft_failed(const struct draft *draft, int error, const char *what, struct err *err)
{
	return err_number(err, error, "%s '%s'", what, draft->place->path);
}

/* Look up the file that is to be replaced, if there is one. */
static int look_at_old(struct draft *draft, struct err *err)
{
	int r = at_name_stat(draft->place->dir, draft->place->name, &draft->old);

	draft->replaces = r == 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return draft_failed(draft, -r, "look at", err);
	if (S_ISDIR(draft->old.stx_mode))
		return draft_failed(draft, EISDIR, "write", err);
	if (!S_ISREG(draft->old.stx_mode) && !S_ISLNK(draft->old.stx_mode))
		return err_set_number(err, ENXIO, "'%s' is no file and stays", draft->place->path);
	return 0;
}

static int create_draft(struct draft *draft, struct err *err)
{
	static _Atomic unsigned count;
	mode_t mode = draft->replaces ? 0600 : 0666;
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		struct err failed = { 0 };

		snprintf(draft->name, sizeof(draft->name), FILEOPS_TEMPORARY "%d-%u-%llx",
			(int)getpid(), atomic_fetch_add(&count, 1),
			(unsigned long long)when_monotonic());
		draft->fd =
			at_create(draft->place->dir, draft->name, O_WRONLY | O_EXCL, mode, &failed);
		if (draft->fd >= 0)
			return 0;
		if (failed.errno_value != EEXIST) {
			*err = failed;
			return err_context(err, "write '%s'", draft->place->path);
		}
	}
	return draft_failed(draft, EEXIST, "find a temporary name for", err);
}

/*
 * Copy the extended attributes of the old file.  Attributes that only the system sets are copied
 * where this is possible.
 */
static int copy_xattrs(const struct draft *draft, struct err *err)
{
	int dir = draft->place->dir;
	owned_mem char *names = mem_alloc(AT_XATTR_MAX), *value = mem_alloc(AT_XATTR_MAX);
	ssize_t len = at_xattr_list(dir, draft->place->name, names, AT_XATTR_MAX);

	/*
	 * Remove the ACL that the directory gives to new files, because the old file may have no
	 * ACL.
	 */
	(void)at_xattr_remove(dir, draft->name, "system.posix_acl_access");
	if (len < 0)
		return draft_failed(draft, (int)-len, "list the attributes of", err);
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		bool ours = !strncmp(name, "user.", 5) || !strncmp(name, "system.posix_acl", 16);
		ssize_t n = at_xattr_get(dir, draft->place->name, name, value, AT_XATTR_MAX);
		int r = n < 0 ? (int)n : at_xattr_set(dir, draft->name, name, value, (size_t)n);

		if (r < 0 && r != -ENODATA && ours)
			return draft_failed(draft, -r, "keep the attributes of", err);
	}
	return 0;
}

static int take_attributes(const struct draft *draft, struct err *err)
{
	const struct statx *old = &draft->old;
	struct stat made;

	if (!draft->replaces || !S_ISREG(old->stx_mode))
		return 0;
	if (fstat(draft->fd, &made) < 0)
		return draft_failed(draft, errno, "look at", err);
	if ((made.st_uid != old->stx_uid || made.st_gid != old->stx_gid) &&
		fchown(draft->fd, old->stx_uid, old->stx_gid) < 0)
		return draft_failed(draft, errno, "keep the owner of", err);
	int r = copy_xattrs(draft, err);
	/* The mode is set last, because a change of the owner clears the setuid bits. */
	if (r >= 0 && fchmod(draft->fd, old->stx_mode & 07777) < 0)
		return draft_failed(draft, errno, "keep the mode of", err);
	return r;
}

/* Whether the file with this name is still the file that was read. */
static bool is_unchanged(void *arg, int dir, const char *name)
{
	const struct statx *old = arg;
	struct statx now;

	return at_name_stat(dir, name, &now) == 0 && now.stx_ino == old->stx_ino &&
	       now.stx_dev_major == old->stx_dev_major && now.stx_dev_minor == old->stx_dev_minor &&
	       now.stx_size == old->stx_size && now.stx_mtime.tv_sec == old->stx_mtime.tv_sec &&
	       now.stx_mtime.tv_nsec == old->stx_mtime.tv_nsec;
}

/*
 * Rename the draft to its place.  If the flag 'only' is set, draft->old is the only file that may
 * be replaced.  Returns 1, or 0 if another file is in the place now.
 */
static int move_draft(struct draft *draft, bool only, struct err *err)
{
	const struct gate_place *at = draft->place;
	struct place place = {
		.dirfd = at->dir,
		.temporary = draft->name,
		.name = at->name,
		.is_old = is_unchanged,
		.arg = &draft->old,
	};
	int r = 1;

	if (only) {
		r = place_rename(&place);
		close_fd(&draft->fd);
	} else if (renameat(at->dir, draft->name, at->dir, at->name) < 0) {
		r = -errno;
	}
	if (r < 0)
		return draft_failed(draft, -r, "rename to", err);
	close_fd(&draft->fd);
	owned_fd int dir = at_name_open(at->dir, ".", O_RDONLY | O_DIRECTORY);
	if (r && dir >= 0)
		(void)fsync(dir);
	return r;
}

/*
 * Replace a file by a draft with this content.  The flag 'only' and the result are those of
 * move_draft.
 */
static int replace(struct draft *draft, struct str content, bool only, struct err *err)
{
	int r = create_draft(draft, err);

	if (r < 0)
		return r;
	r = at_write_all(draft->fd, content.ptr, content.len);
	if (r < 0)
		return draft_failed(draft, -r, "write", err);
	r = take_attributes(draft, err);
	if (r >= 0 && fsync(draft->fd) < 0)
		return draft_failed(draft, errno, "sync", err);
	return r < 0 ? r : move_draft(draft, only, err);
}

int fileops_write(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	owned(gate_place_release) struct gate_place place = GATE_PLACE_INIT;
	owned(drop_draft) struct draft draft = { .place = &place, .fd = -1 };
	int r = gate_place_of(ops->gate, request->path, true, &place, err);

	if (r >= 0)
		r = look_at_old(&draft, err);
	if (r >= 0)
		r = replace(&draft, request->content, false, err);
	if (r < 0)
		return r;
	*reply = (struct wire_reply){ .kind = WIRE_WRITE, .count = request->content.len };
	return 0;
}

/* -------------------------------------------------------------------- edit */

/* Read the whole file at a place.  *old becomes the state of the file before it was read. */
static int read_whole(
	const struct gate_place *place, struct buf *out, struct statx *old, struct err *err)
{
	struct stat st;
	owned_fd int fd = gate_content(place->dir, place->name, &st);

	if (fd < 0)
		return err_number(err, -fd, "open '%s'", place->path);
	int r = at_fd_stat(fd, old);
	if (r >= 0 && old->stx_size > FILEOPS_EDIT_MAX)
		r = -EFBIG;
	char *room = r < 0 ? NULL : buf_reserve(out, (size_t)old->stx_size);
	ssize_t n = room ? at_pread_full(fd, room, (size_t)old->stx_size, 0) : r;
	if (n < 0)
		return err_number(err, (int)-n, "read '%s'", place->path);
	out->len += (size_t)n;
	return 0;
}

/*
 * Copy a text to 'out', with old_string replaced once or everywhere.  Returns the number of
 * replacements, or a negative error.
 */
static int64_t substitute(struct fileops *ops, struct str text, const struct wire_request *request,
	struct buf *out, struct err *err)
{
	struct str old = request->old_string, new = request->new_string;
	const char *at = text.ptr, *end = text.ptr + text.len;
	int64_t times = 0;

	while (at < end && (!times || request->replace_all)) {
		const char *found = memmem(at, (size_t)(end - at), old.ptr, old.len);

		if (!found)
			break;
		if (ticket_check(ops->ticket, err) < 0)
			return -(int64_t)err->code;
		buf_add(out, at, (size_t)(found - at));
		buf_add(out, new.ptr, new.len);
		at = found + old.len;
		times++;
	}
	buf_add(out, at, (size_t)(end - at));
	return times;
}

static int64_t try_edit(struct fileops *ops, const struct wire_request *request,
	const struct gate_place *place, struct err *err)
{
	owned(buf_release) struct buf text = { .max = FILEOPS_EDIT_MAX + 1 };
	owned(buf_release) struct buf edited = { .max = FILEOPS_EDIT_MAX + 1 };
	owned(drop_draft) struct draft draft = { .place = place, .fd = -1, .replaces = true };
	int r = read_whole(place, &text, &draft.old, err);

	if (r < 0)
		return r;
	int64_t times =
		substitute(ops, (struct str){ text.data ?: "", text.len }, request, &edited, err);
	if (times < 0)
		return times;
	if (!times)
		return err_set_number(err, ENODATA, "old_string not found in '%s'", place->path);
	if (edited.overflowed)
		return err_number(err, EFBIG, "edit '%s'", place->path);
	r = replace(&draft, (struct str){ edited.data ?: "", edited.len }, true, err);
	return r > 0 ? times : r;
}

/* Check that the policy also allows reading the file. */
static int allow_reading(struct fileops *ops, const struct gate_place *place, struct err *err)
{
	owned(gate_file_release) struct gate_file file = GATE_FILE_INIT;

	return gate_open(ops->gate, str_of(place->path), GATE_ITSELF, &file, err);
}

int fileops_edit(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err)
{
	owned(gate_place_release) struct gate_place place = GATE_PLACE_INIT;
	int64_t times = 0;

	if (!request->old_string.len)
		return err_set_number(err, EINVAL, "old_string is empty");
	int r = gate_place_of(ops->gate, request->path, false, &place, err);
	if (r >= 0)
		r = allow_reading(ops, &place, err);
	for (unsigned i = 0; r >= 0 && !times && i < TRIES_MAX; i++) {
		times = try_edit(ops, request, &place, err);
		r = times < 0 ? (int)times : 0;
	}
	if (r < 0)
		return r;
	if (!times)
		return err_set_number(err, EBUSY, "other programs keep replacing '%s'", place.path);
	*reply = (struct wire_reply){ .kind = WIRE_EDIT, .count = (uint64_t)times };
	return 0;
}
