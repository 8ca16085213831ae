/* Opens a bundle, finds the record of a path, and compares the two states of a file. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle/bundle_priv.h"

static const char *const operation_names[BUNDLE_OPERATIONS] = { "read", "write", "existence",
	"directory", "delete", "create", "rename", "execute", "metadata" };
static const char *const change_names[BUNDLE_CHANGES] = { "type", "content", "target", "device",
	"mode", "owner", "xattr", "mtime" };

static const char *const type_names[BUNDLE_TYPES] = {
	[BUNDLE_NONE] = "none",
	[BUNDLE_FILE] = "file",
	[BUNDLE_DIR] = "dir",
	[BUNDLE_LINK] = "symlink",
	[BUNDLE_FIFO] = "fifo",
	[BUNDLE_SOCKET] = "socket",
	[BUNDLE_CHAR] = "char",
	[BUNDLE_BLOCK] = "block",
};

static const char *name_of_bit(
	unsigned bit, const char *const *names, unsigned n, const char *otherwise)
{
	for (unsigned i = 0; i < n; i++)
		if (bit == 1u << i)
			return names[i];
	return otherwise;
}

const char *bundle_operation_name(unsigned bit)
{
	return name_of_bit(bit, operation_names, BUNDLE_OPERATIONS, "other");
}

const char *bundle_change_name(unsigned bit)
{
	return name_of_bit(bit, change_names, BUNDLE_CHANGES, "unknown");
}

enum bundle_type bundle_type_of(uint32_t mode)
{
	static const mode_t formats[BUNDLE_TYPES] = { 0, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO,
		S_IFSOCK, S_IFCHR, S_IFBLK };

	for (enum bundle_type type = BUNDLE_FILE; type < BUNDLE_TYPES; type++)
		if ((mode & S_IFMT) == formats[type])
			return type;
	return BUNDLE_NONE;
}

const char *bundle_type_name(enum bundle_type type)
{
	return type_names[type];
}

const char *bundle_side_name(enum bundle_side side)
{
	return side == BUNDLE_BEFORE ? "before" : "after";
}

/* ------------------------------------------------------------------ opening */

static int compare_paths(const void *a, const void *b)
{
	return str_cmp(
		((const struct bundle_file *)a)->path, ((const struct bundle_file *)b)->path);
}

static int sort_files(struct bundle *bundle, struct err *err)
{
	bundle->was_sorted = true;
	for (size_t i = 1; i < bundle->n_files; i++)
		if (compare_paths(&bundle->files[i - 1], &bundle->files[i]) > 0)
			bundle->was_sorted = false;
	if (!bundle->was_sorted)
		qsort(bundle->files, bundle->n_files, sizeof(*bundle->files), compare_paths);
	for (size_t i = 1; i < bundle->n_files; i++)
		if (!compare_paths(&bundle->files[i - 1], &bundle->files[i]))
			return err_set(err, ERR_CORRUPT, "two records of '%.*s'",
				BUNDLE_WHERE_BYTES, bundle->files[i].path.ptr);
	return 0;
}

struct bundle *bundle_parse(struct str manifest, struct err *err)
{
	owned(bundle_closep) struct bundle *bundle = mem_zalloc(sizeof(*bundle));

	bundle->priv = mem_zalloc(sizeof(*bundle->priv));
	bundle->priv->dir = bundle->priv->blobs_fd = -1;
	bundle->start_cwd = bundle->engine = STR("");
	if (bundle_read_manifest(bundle, manifest, err) < 0 || sort_files(bundle, err) < 0) {
		(void)err_context(err, BUNDLE_MANIFEST);
		return NULL;
	}
	return take_ptr(&bundle);
}

void bundle_closep(struct bundle **closed)
{
	struct bundle *bundle = *closed;

	if (!bundle)
		return;
	bundle_content_release(bundle->priv);
	pqread_close(bundle->blobs);
	close_fd(&bundle->priv->blobs_fd);
	close_fd(&bundle->priv->dir);
	arena_release(&bundle->priv->arena);
	free(bundle->priv);
	free(bundle->files);
	free(bundle);
}

static int open_regular(int dir, const char *name, uint64_t *size, struct err *err)
{
	owned_fd int fd = at_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
	struct statx stx;

	if (fd < 0)
		return fd;
	errno = -at_fd_stat(fd, &stx);
	if (errno)
		return err_errno(err, "stat '%s'", name);
	if (!S_ISREG(stx.stx_mode))
		return err_set(err, ERR_CORRUPT, "'%s' is not a regular file", name);
	*size = stx.stx_size;
	return take_fd(&fd);
}

static struct bundle *open_manifest(int dir, struct err *err)
{
	uint64_t size;
	owned_fd int fd = open_regular(dir, BUNDLE_MANIFEST, &size, err);

	if (fd < 0) {
		if (err->code == ERR_NOT_FOUND)
			(void)err_set(err, ERR_NOT_FOUND,
				"no bundle: it has no file '" BUNDLE_MANIFEST "'");
		return NULL;
	}
	if (size > BUNDLE_MANIFEST_MAX) {
		(void)err_set(err, ERR_LIMIT, BUNDLE_MANIFEST " has more than %zu bytes",
			BUNDLE_MANIFEST_MAX);
		return NULL;
	}
	owned_mem char *text = mem_alloc((size_t)size + 1);
	ssize_t n = at_pread_full(fd, text, (size_t)size, 0);
	if (n < 0) {
		(void)err_number(err, (int)-n, "read " BUNDLE_MANIFEST);
		return NULL;
	}
	return bundle_parse((struct str){ text, (size_t)n }, err);
}

static int open_blobs(struct bundle *bundle, int dir, struct err *err)
{
	struct err missing = { 0 };
	uint64_t size;
	int fd = open_regular(dir, BUNDLE_BLOBS, &size, &missing);

	if (fd < 0 && missing.code == ERR_NOT_FOUND)
		return 0;
	if (fd < 0) {
		*err = missing;
		return fd;
	}
	bundle->priv->blobs_fd = fd;
	bundle->blobs = pqread_open(fd, err);
	if (!bundle->blobs)
		return err_context(err, BUNDLE_BLOBS);
	bundle->priv->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (bundle->priv->dir >= 0)
		pqread_spool(bundle->blobs, bundle->priv->dir);
	return 0;
}

struct bundle *bundle_open(int dir, struct err *err)
{
	owned(bundle_closep) struct bundle *bundle = open_manifest(dir, err);

	if (!bundle || open_blobs(bundle, dir, err) < 0)
		return NULL;
	return take_ptr(&bundle);
}

/* ------------------------------------------------------------------- lookup */

const struct bundle_file *bundle_find(const struct bundle *bundle, struct str path)
{
	struct bundle_file key = { .path = path };

	if (!bundle->n_files)
		return NULL;
	return bsearch(&key, bundle->files, bundle->n_files, sizeof(*bundle->files), compare_paths);
}

unsigned bundle_compare_attributes(const struct bundle_state *a, const struct bundle_state *b)
{
	unsigned both = a->has & b->has, what = 0;

	if (both & BUNDLE_HAS_MODE && a->mode != b->mode)
		what |= BUNDLE_CHANGED_MODE;
	if ((both & BUNDLE_HAS_UID && a->uid != b->uid) ||
		(both & BUNDLE_HAS_GID && a->gid != b->gid))
		what |= BUNDLE_CHANGED_OWNER;
	if (!attrs_same(a->xattrs, a->n_xattrs, b->xattrs, b->n_xattrs))
		what |= BUNDLE_CHANGED_XATTRS;
	if (a->type != BUNDLE_DIR && both & BUNDLE_HAS_MTIME && a->mtime != b->mtime)
		what |= BUNDLE_CHANGED_MTIME;
	if (both & BUNDLE_HAS_RDEV && a->rdev != b->rdev)
		what |= BUNDLE_CHANGED_DEVICE;
	if (both & BUNDLE_HAS_TARGET && !str_eq(a->target, b->target))
		what |= BUNDLE_CHANGED_TARGET;
	return what;
}

unsigned bundle_compare(const struct bundle_file *file)
{
	const struct bundle_state *a = &file->state[BUNDLE_BEFORE], *b = &file->state[BUNDLE_AFTER];

	if (a->exists != b->exists || a->type != b->type)
		return BUNDLE_CHANGED_TYPE;
	if (!a->exists)
		return 0;
	unsigned what = bundle_compare_attributes(a, b);
	if (a->type == BUNDLE_FILE && !bundle_content_is_same(file))
		what |= BUNDLE_CHANGED_CONTENT;
	return what;
}

bool bundle_is_linked(const struct bundle_state *state, struct str path)
{
	for (size_t i = 0; i < state->n_links; i++)
		if (str_eq(state->links[i], path))
			return true;
	return false;
}

/* Whether the file has, in this state, a further name that it lacks in the other state. */
static bool links_differ(const struct bundle_file *file, enum bundle_side side)
{
	const struct bundle_state *state = &file->state[side], *other = &file->state[!side];

	for (size_t i = 0; i < state->n_links; i++)
		if (!str_eq(state->links[i], file->path) &&
			!bundle_is_linked(other, state->links[i]))
			return true;
	return false;
}

bool bundle_is_changed(const struct bundle_file *file)
{
	const struct bundle_state *after = &file->state[BUNDLE_AFTER];

	return bundle_compare(file) ||
	       (after->exists && after->type != BUNDLE_DIR && file->operations & BUNDLE_WRITE) ||
	       (file->operations & BUNDLE_CHANGING &&
		       (links_differ(file, BUNDLE_BEFORE) || links_differ(file, BUNDLE_AFTER)));
}
