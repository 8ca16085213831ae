/*
 * What libarchive does not settle by itself is settled here:
 *
 * Names.  The writer is told hdrcharset=BINARY, so it stores bytes and says so.
 * The reader converts names of pax archives that do not say so from UTF-8 to the
 * locale, and keeps the bytes as they are when that fails.  In the "C" locale it
 * fails for every name that is not ASCII, so we read under that one (uselocale,
 * this thread only) and get bytes whatever the program's locale is.  The price is
 * a warning per such name, told apart from real ones by its error number.
 *
 * Times.  pax writes a negative time as sign and magnitude: -0.25 is a quarter
 * second before the epoch.  libarchive parses and prints seconds and fraction
 * apart and leaves the sign to the seconds, so we hand it sign and magnitude too
 * and agree with GNU tar.  The sign of a time in the last second before the epoch
 * is lost that way; for those we add a creation time of (-1 s, same fraction),
 * which nothing on Linux restores, and look for it when reading.
 *
 * ACLs.  Ours travel as SCHILY.xattr.system.posix_acl_*, byte for byte.  Text
 * ACLs of other programs (SCHILY.acl.*) become the same xattrs.  The header's
 * group bits of such a member are the mask, but libarchive replaces them by the
 * entry group::, so they are taken back from the mask.
 *
 * Xattr names.  libarchive and GNU tar write '%' and '=' (the former more) as
 * %XX in SCHILY names but only GNU tar undoes it: we do.
 *
 * End.  libarchive takes the end of the file for the end of the archive.  An
 * archive cut between two members would read as a shorter good one, so the end
 * marker is required: reading it moves the position by a block at least.
 */
#include "core/tar.h"

#ifdef TAR_STATIC_NONE

static int unsupported(struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, "this build has no archive support");
}

struct tar_reader *tar_reader_open(int fd, struct err *err)
{
	(void)fd;
	(void)unsupported(err);
	return NULL;
}

int tar_reader_next(struct tar_reader *tar, struct tar_member *member, struct err *err)
{
	(void)tar;
	(void)member;
	return unsupported(err);
}

int tar_reader_data(
	struct tar_reader *tar, const void **bytes, size_t *len, uint64_t *offset, struct err *err)
{
	(void)tar;
	(void)bytes;
	(void)len;
	(void)offset;
	return unsupported(err);
}

void tar_reader_close(struct tar_reader *tar)
{
	(void)tar;
}

struct tar_writer *tar_writer_open(int fd, struct err *err)
{
	(void)fd;
	(void)unsupported(err);
	return NULL;
}

int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err)
{
	(void)tar;
	(void)member;
	return unsupported(err);
}

int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	(void)tar;
	(void)bytes;
	(void)len;
	return unsupported(err);
}

int tar_writer_finish(struct tar_writer *tar, struct err *err)
{
	(void)tar;
	return unsupported(err);
}

void tar_writer_close(struct tar_writer *tar)
{
	(void)tar;
}

#else

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <dlfcn.h>
#include <grp.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/own.h"

#define LIBRARY "libarchive.so.13"
#define PACKAGE "libarchive13"

/* libarchive refuses to read a pax record of 1,000,000 bytes, and 1 MiB of them together. */
#define PATH_LIMIT ((size_t)900 << 10)    /* of a path, or a link target */
#define HEADER_LIMIT ((size_t)1000 << 10) /* of path, link, xattr names and values together */
#define XATTR_NAME_LIMIT ((size_t)255)
#define XATTR_VALUE_LIMIT ((size_t)64 << 10) /* the kernel's own */
#define XATTR_COUNT_LIMIT ((size_t)4096)
#define EXTENT_COUNT_LIMIT ((size_t)4 << 20)
#define ACL_COUNT_LIMIT ((size_t)8000) /* what fits an xattr value */

#define TAR_BLOCK 512
#define TAR_RECORD (20 * TAR_BLOCK) /* archives are padded to this, by custom */
#define IO_SIZE ((size_t)256 << 10)
#define NS_PER_S 1000000000

/* --- the library --- */

#define FUNCTIONS(X)                                                                               \
	X(archive_errno)                                                                           \
	X(archive_error_string)                                                                    \
	X(archive_filter_bytes)                                                                    \
	X(archive_read_new)                                                                        \
	X(archive_read_support_format_tar)                                                         \
	X(archive_read_support_filter_bzip2)                                                       \
	X(archive_read_support_filter_gzip)                                                        \
	X(archive_read_support_filter_xz)                                                          \
	X(archive_read_support_filter_zstd)                                                        \
	X(archive_read_open_fd)                                                                    \
	X(archive_read_next_header)                                                                \
	X(archive_read_data_block)                                                                 \
	X(archive_read_data_skip)                                                                  \
	X(archive_read_free)                                                                       \
	X(archive_write_new)                                                                       \
	X(archive_write_set_format_pax)                                                            \
	X(archive_write_set_format_option)                                                         \
	X(archive_write_set_bytes_per_block)                                                       \
	X(archive_write_set_bytes_in_last_block)                                                   \
	X(archive_write_open_fd)                                                                   \
	X(archive_write_header)                                                                    \
	X(archive_write_data)                                                                      \
	X(archive_write_finish_entry)                                                              \
	X(archive_write_close)                                                                     \
	X(archive_write_fail)                                                                      \
	X(archive_write_free)                                                                      \
	X(archive_entry_new)                                                                       \
	X(archive_entry_clear)                                                                     \
	X(archive_entry_free)                                                                      \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_symlink)                                                                   \
	X(archive_entry_mode)                                                                      \
	X(archive_entry_uid)                                                                       \
	X(archive_entry_gid)                                                                       \
	X(archive_entry_size)                                                                      \
	X(archive_entry_mtime)                                                                     \
	X(archive_entry_mtime_nsec)                                                                \
	X(archive_entry_birthtime)                                                                 \
	X(archive_entry_birthtime_is_set)                                                          \
	X(archive_entry_birthtime_nsec)                                                            \
	X(archive_entry_rdevmajor)                                                                 \
	X(archive_entry_rdevminor)                                                                 \
	X(archive_entry_xattr_reset)                                                               \
	X(archive_entry_xattr_next)                                                                \
	X(archive_entry_sparse_reset)                                                              \
	X(archive_entry_sparse_next)                                                               \
	X(archive_entry_acl_types)                                                                 \
	X(archive_entry_acl_reset)                                                                 \
	X(archive_entry_acl_next)                                                                  \
	X(archive_entry_set_pathname)                                                              \
	X(archive_entry_set_hardlink)                                                              \
	X(archive_entry_set_symlink)                                                               \
	X(archive_entry_set_mode)                                                                  \
	X(archive_entry_set_uid)                                                                   \
	X(archive_entry_set_gid)                                                                   \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_mtime)                                                                 \
	X(archive_entry_set_birthtime)                                                             \
	X(archive_entry_set_rdevmajor)                                                             \
	X(archive_entry_set_rdevminor)                                                             \
	X(archive_entry_xattr_add_entry)                                                           \
	X(archive_entry_sparse_add_entry)

static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} lib;

static struct {
	pthread_once_t once;
	bool loaded;
	char why_not[256];
	locale_t c_locale;
} library = { .once = PTHREAD_ONCE_INIT };

static void library_open(void)
{
#ifndef TAR_LINKED
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		snprintf(library.why_not, sizeof(library.why_not), "%s", dlerror());
		return;
	}
#define X(name)                                                                                    \
	if (!(lib.name = (__typeof__(&name))dlsym(handle, #name))) {                               \
		snprintf(library.why_not, sizeof(library.why_not), "it has no %s", #name);         \
		return;                                                                            \
	}
#else
#define X(name) lib.name = name;
#endif
	FUNCTIONS(X)
#undef X
	library.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	library.loaded = library.c_locale != (locale_t)0;
}

static int library_need(struct err *err)
{
	(void)pthread_once(&library.once, library_open);
	if (library.loaded)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "cannot load %s: %s", LIBRARY, library.why_not);
	return err_hint(err, "install the package %s", PACKAGE);
}

/* Names are bytes only in the "C" locale: every call that may touch one is made inside. */
#define IN_C_LOCALE owned(locale_leave) locale_t outside_ = uselocale(library.c_locale)

static void locale_leave(locale_t *outside)
{
	(void)uselocale(*outside);
}

/* --- reading --- */

struct tar_reader {
	struct archive *archive;
	struct arena arena; /* what the current member points at besides the entry's own */
	bool ended;
};

/* libarchive's complaint: damage, unless the file itself could not be read. */
static int reader_failed(struct tar_reader *tar, struct err *err)
{
	const char *text = lib.archive_error_string(tar->archive) ?: "unknown damage";
	int number = lib.archive_errno(tar->archive);

	tar->ended = true;
	if (number == EIO || number == EISDIR || number == EBADF || number == ENOMEM) {
		errno = number;
		return err_errno(err, "read archive");
	}
	return err_set(err, ERR_CORRUPT, "damaged archive: %s", text);
}

struct tar_reader *tar_reader_open(int fd, struct err *err)
{
	if (library_need(err))
		return NULL;
	IN_C_LOCALE;
	struct tar_reader *tar = mem_zalloc(sizeof(*tar));
	tar->archive = lib.archive_read_new();
	if (!tar->archive) {
		(void)err_set(err, ERR_LIMIT, "out of memory for an archive");
		tar_reader_close(tar);
		return NULL;
	}
	/* Filters may answer "warn": they would call an external program.  So be it. */
	(void)lib.archive_read_support_filter_gzip(tar->archive);
	(void)lib.archive_read_support_filter_xz(tar->archive);
	(void)lib.archive_read_support_filter_zstd(tar->archive);
	(void)lib.archive_read_support_filter_bzip2(tar->archive);
	(void)lib.archive_read_support_format_tar(tar->archive);
	if (lib.archive_read_open_fd(tar->archive, fd, IO_SIZE) != ARCHIVE_OK) {
		(void)reader_failed(tar, err);
		tar_reader_close(tar);
		return NULL;
	}
	return tar;
}

void tar_reader_close(struct tar_reader *tar)
{
	if (!tar)
		return;
	if (tar->archive)
		(void)lib.archive_read_free(tar->archive);
	arena_release(&tar->arena);
	free(tar);
}

static int read_name(const char *name, const char *what, struct str *out, struct err *err)
{
	if (!name)
		return err_set(err, ERR_CORRUPT, "damaged archive: a member without %s", what);
	if (strlen(name) > PATH_LIMIT)
		return err_set(err, ERR_LIMIT, "%s in the archive has more than %zu bytes", what,
			PATH_LIMIT);
	*out = str_of(name);
	return 0;
}

static int read_mtime(struct archive_entry *entry, int64_t *mtime, struct err *err)
{
	int64_t seconds = lib.archive_entry_mtime(entry);
	int64_t fraction = lib.archive_entry_mtime_nsec(entry);
	int64_t ns;

	if (seconds < 0 || (!seconds && lib.archive_entry_birthtime_is_set(entry) &&
				   lib.archive_entry_birthtime(entry) == -1 &&
				   lib.archive_entry_birthtime_nsec(entry) == fraction))
		fraction = -fraction;
	if (__builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
		__builtin_add_overflow(ns, fraction, &ns))
		return err_set(err, ERR_INVALID, "mtime %jd is out of range", (intmax_t)seconds);
	*mtime = ns;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A copy of name with its %XX undone. */
static struct str decode_name(struct arena *arena, struct str name)
{
	char *out = arena_alloc(arena, name.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < name.len; i++) {
		int high = -1;
		int low = -1;

		if (name.ptr[i] == '%' && i + 2 < name.len) {
			high = hex_digit(name.ptr[i + 1]);
			low = hex_digit(name.ptr[i + 2]);
		}
		if (high >= 0 && low >= 0 && (high || low)) {
			out[len++] = (char)(high << 4 | low);
			i += 2;
		} else {
			out[len++] = name.ptr[i];
		}
	}
	return (struct str){ out, len };
}

struct xattrs {
	struct tar_xattr *list;
	size_t count;
	size_t cap;
};

static void xattrs_release(struct xattrs *xattrs)
{
	free(xattrs->list);
}

static bool xattrs_has(const struct xattrs *xattrs, struct str name)
{
	for (size_t i = 0; i < xattrs->count; i++)
		if (str_eq(xattrs->list[i].name, name))
			return true;
	return false;
}

static void xattrs_add(struct xattrs *xattrs, struct str name, struct str value)
{
	mem_grow(&xattrs->list, &xattrs->cap, xattrs->count);
	xattrs->list[xattrs->count++] = (struct tar_xattr){ name, value };
}

static int compare_xattrs(const void *a, const void *b)
{
	return str_cmp(((const struct tar_xattr *)a)->name, ((const struct tar_xattr *)b)->name);
}

/* bsdtar writes each xattr twice, in two notations: the first seen stays. */
static int read_xattrs(
	struct tar_reader *tar, struct archive_entry *entry, struct xattrs *xattrs, struct err *err)
{
	const char *name;
	const void *value;
	size_t len;

	(void)lib.archive_entry_xattr_reset(entry);
	while (lib.archive_entry_xattr_next(entry, &name, &value, &len) == ARCHIVE_OK) {
		if (!name || !*name)
			return err_set(err, ERR_CORRUPT, "damaged archive: xattr without a name");
		struct str plain = decode_name(&tar->arena, str_of(name));
		if (plain.len > XATTR_NAME_LIMIT || len > XATTR_VALUE_LIMIT)
			return err_set(err, ERR_LIMIT, "xattr '%.80s' has more than %zu bytes",
				plain.ptr,
				plain.len > XATTR_NAME_LIMIT ? XATTR_NAME_LIMIT
							     : XATTR_VALUE_LIMIT);
		if (xattrs_has(xattrs, plain))
			continue;
		if (xattrs->count == XATTR_COUNT_LIMIT)
			return err_set(err, ERR_LIMIT, "a member has more than %zu xattrs",
				XATTR_COUNT_LIMIT);
		xattrs_add(xattrs, plain, (struct str){ value, len });
	}
	return 0;
}

/* --- ACLs: from libarchive's entries to what the kernel takes --- */

/* The kernel's tags; ascending order is the one it demands. */
enum {
	ACL_USER_OBJ = 0x01,
	ACL_USER = 0x02,
	ACL_GROUP_OBJ = 0x04,
	ACL_GROUP = 0x08,
	ACL_MASK = 0x10,
	ACL_OTHER = 0x20,
};

#define ACL_VERSION 2
#define ACL_NO_ID UINT32_MAX
#define ACL_HEADER_SIZE 4
#define ACL_ENTRY_SIZE 8

struct acl_entry {
	unsigned tag;
	unsigned perm;
	uint32_t id;
};

static int compare_acl(const void *a, const void *b)
{
	const struct acl_entry *x = a;
	const struct acl_entry *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The text has a name, and a number only where bsdtar or star wrote it. */
static int acl_resolve(bool user, int number, const char *name, uint32_t *id, struct err *err)
{
	char *end;

	if (number != -1) {
		*id = (uint32_t)number;
		return 0;
	}
	if (name && *name) {
		unsigned long value = strtoul(name, &end, 10);
		if (!*end && value < ACL_NO_ID) {
			*id = (uint32_t)value;
			return 0;
		}
		struct passwd *pw = user ? getpwnam(name) : NULL;
		struct group *gr = user ? NULL : getgrnam(name);
		if (pw || gr) {
			*id = pw ? pw->pw_uid : gr->gr_gid;
			return 0;
		}
	}
	(void)err_set(err, ERR_INVALID, "an ACL in the archive names the unknown %s '%.80s'",
		user ? "user" : "group", name ?: "");
	return err_hint(err, "make the archive with tar --numeric-owner");
}

static unsigned acl_tag(int tag)
{
	switch (tag) {
	case ARCHIVE_ENTRY_ACL_USER_OBJ:
		return ACL_USER_OBJ;
	case ARCHIVE_ENTRY_ACL_USER:
		return ACL_USER;
	case ARCHIVE_ENTRY_ACL_GROUP_OBJ:
		return ACL_GROUP_OBJ;
	case ARCHIVE_ENTRY_ACL_GROUP:
		return ACL_GROUP;
	case ARCHIVE_ENTRY_ACL_MASK:
		return ACL_MASK;
	case ARCHIVE_ENTRY_ACL_OTHER:
		return ACL_OTHER;
	}
	return 0;
}

static void put_le(unsigned char *out, size_t size, uint32_t value)
{
	for (size_t i = 0; i < size; i++)
		out[i] = (unsigned char)(value >> (8 * i));
}

static struct str acl_encode(struct arena *arena, const struct acl_entry *list, size_t count)
{
	size_t len = ACL_HEADER_SIZE + count * ACL_ENTRY_SIZE;
	unsigned char *out = arena_alloc(arena, len);

	put_le(out, 4, ACL_VERSION);
	for (size_t i = 0; i < count; i++) {
		unsigned char *at = out + ACL_HEADER_SIZE + i * ACL_ENTRY_SIZE;

		put_le(at, 2, list[i].tag);
		put_le(at + 2, 2, list[i].perm);
		put_le(at + 4, 4, list[i].id);
	}
	return (struct str){ (const char *)out, len };
}

/*
 * The ACL of one type as an xattr, if the entry has one that says more than the
 * mode; *mask gets the mask's permissions or stays.
 */
static int read_acl(struct tar_reader *tar, struct archive_entry *entry, int type, struct str name,
	struct xattrs *xattrs, int *mask, struct err *err)
{
	owned_mem struct acl_entry *list = NULL;
	size_t count = 0;
	size_t cap = 0;
	int permset, tag, number, entry_type, rc;
	const char *who;

	if (!(lib.archive_entry_acl_types(entry) & type) || xattrs_has(xattrs, name))
		return 0;
	(void)lib.archive_entry_acl_reset(entry, type);
	while (lib.archive_entry_acl_next(
		       entry, type, &entry_type, &permset, &tag, &number, &who) == ARCHIVE_OK) {
		struct acl_entry one = { acl_tag(tag), (unsigned)permset & 7, ACL_NO_ID };

		if (one.tag == ACL_USER || one.tag == ACL_GROUP) {
			rc = acl_resolve(one.tag == ACL_USER, number, who, &one.id, err);
			if (rc)
				return rc;
		}
		if (!one.tag)
			return err_set(
				err, ERR_UNSUPPORTED, "the archive has ACLs that are not POSIX");
		if (count == ACL_COUNT_LIMIT)
			return err_set(err, ERR_LIMIT,
				"an ACL in the archive has more than %zu entries", ACL_COUNT_LIMIT);
		if (one.tag == ACL_MASK)
			*mask = (int)one.perm;
		mem_grow(&list, &cap, count);
		list[count++] = one;
	}
	if (!count || (type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS && count <= 3))
		return 0;
	qsort(list, count, sizeof(*list), compare_acl);
	xattrs_add(xattrs, name, acl_encode(&tar->arena, list, count));
	return 0;
}

static int read_acls(struct tar_reader *tar, struct archive_entry *entry, struct xattrs *xattrs,
	mode_t *mode, struct err *err)
{
	int mask = -1;
	int ignored = -1;
	int rc = read_acl(tar, entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, STR("system.posix_acl_access"),
		xattrs, &mask, err);

	if (rc)
		return rc;
	if (mask >= 0)
		*mode = (*mode & ~(mode_t)0070) | (mode_t)mask << 3;
	return read_acl(tar, entry, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, STR("system.posix_acl_default"),
		xattrs, &ignored, err);
}

static int read_extents(struct tar_reader *tar, struct archive_entry *entry,
	struct tar_member *member, struct err *err)
{
	int total = lib.archive_entry_sparse_reset(entry);
	int64_t offset, length;

	if (total <= 0)
		return 0;
	if ((size_t)total > EXTENT_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT,
			"a sparse file in the archive has more than %zu extents",
			EXTENT_COUNT_LIMIT);
	struct tar_extent *list = arena_alloc(&tar->arena, (size_t)total * sizeof(*list));
	size_t count = 0;
	while (count < (size_t)total &&
		lib.archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK) {
		if (length > 0)
			list[count++] = (struct tar_extent){ (uint64_t)offset, (uint64_t)length };
	}
	member->sparse = true;
	member->extents = list;
	member->n_extents = count;
	return 0;
}

static int read_id(int64_t id, uint32_t *out, struct err *err)
{
	if (id < 0 || id > UINT32_MAX)
		return err_set(err, ERR_INVALID, "owner %jd is out of range", (intmax_t)id);
	*out = (uint32_t)id;
	return 0;
}

/* Everything of a member but its path. */
static int read_member(struct tar_reader *tar, struct archive_entry *entry,
	struct tar_member *member, struct err *err)
{
	owned(xattrs_release) struct xattrs xattrs = { 0 };
	const char *hardlink = lib.archive_entry_hardlink(entry);
	int64_t size = lib.archive_entry_size(entry);
	int rc;

	member->mode = lib.archive_entry_mode(entry);
	member->hardlink = hardlink;
	if (size < 0)
		return err_set(err, ERR_CORRUPT, "damaged archive: negative size");
	member->size = (uint64_t)size;
	if (S_ISCHR(member->mode) || S_ISBLK(member->mode)) {
		member->major = (uint32_t)lib.archive_entry_rdevmajor(entry);
		member->minor = (uint32_t)lib.archive_entry_rdevminor(entry);
	}
	if (hardlink || S_ISLNK(member->mode)) {
		const char *link = hardlink ?: lib.archive_entry_symlink(entry);

		if ((rc = read_name(link, "a link target", &member->link, err)))
			return rc;
	}
	if ((rc = read_id(lib.archive_entry_uid(entry), &member->uid, err)) ||
		(rc = read_id(lib.archive_entry_gid(entry), &member->gid, err)) ||
		(rc = read_mtime(entry, &member->mtime, err)) ||
		(rc = read_extents(tar, entry, member, err)) ||
		(rc = read_xattrs(tar, entry, &xattrs, err)) ||
		(rc = read_acls(tar, entry, &xattrs, &member->mode, err)))
		return rc;
	if (xattrs.count) {
		size_t bytes = xattrs.count * sizeof(*xattrs.list);
		struct tar_xattr *list = arena_alloc(&tar->arena, bytes);

		qsort(xattrs.list, xattrs.count, sizeof(*xattrs.list), compare_xattrs);
		memcpy(list, xattrs.list, bytes);
		member->xattrs = list;
		member->n_xattrs = xattrs.count;
	}
	return 0;
}

int tar_reader_next(struct tar_reader *tar, struct tar_member *member, struct err *err)
{
	struct tar_member found = { 0 };
	struct archive_entry *entry;

	if (tar->ended)
		return 0;
	IN_C_LOCALE;
	arena_release(&tar->arena);
	tar->arena = (struct arena){ 0 };
	/* Skipping is explicit so that the position below is the end of the last member. */
	if (lib.archive_filter_bytes(tar->archive, 0) > 0 &&
		lib.archive_read_data_skip(tar->archive) < ARCHIVE_WARN)
		return reader_failed(tar, err);
	int64_t before = lib.archive_filter_bytes(tar->archive, 0);
	int status = lib.archive_read_next_header(tar->archive, &entry);
	if (status == ARCHIVE_EOF) {
		tar->ended = true;
		if (lib.archive_filter_bytes(tar->archive, 0) - before < TAR_BLOCK)
			return err_set(
				err, ERR_CORRUPT, "damaged archive: it ends without an end marker");
		return 0;
	}
	/* The one warning that is none: a name kept as bytes. */
	if (status != ARCHIVE_OK && !(status == ARCHIVE_WARN && lib.archive_errno(tar->archive) ==
									ARCHIVE_ERRNO_FILE_FORMAT))
		return reader_failed(tar, err);
	int rc = read_name(lib.archive_entry_pathname(entry), "a path", &found.path, err);
	if (rc)
		return rc;
	rc = read_member(tar, entry, &found, err);
	if (rc)
		return err_context(err, "member '%.100s'", found.path.ptr);
	*member = found;
	return 1;
}

int tar_reader_data(
	struct tar_reader *tar, const void **bytes, size_t *len, uint64_t *offset, struct err *err)
{
	const void *block;
	size_t block_len;
	int64_t at;

	if (tar->ended)
		return 0;
	for (;;) {
		int status = lib.archive_read_data_block(tar->archive, &block, &block_len, &at);

		if (status == ARCHIVE_EOF)
			return 0;
		if (status != ARCHIVE_OK)
			return reader_failed(tar, err);
		if (!block_len) /* a hole at the end of a sparse file */
			continue;
		*bytes = block;
		*len = block_len;
		*offset = (uint64_t)at;
		return 1;
	}
}

/* --- writing --- */

struct tar_writer {
	struct archive *archive;
	struct archive_entry *entry;
	struct arena arena;
	bool finished;
	/* The current member: what is owed, as runs of data; one run when it is not sparse. */
	struct tar_extent *runs;
	size_t n_runs;
	size_t run;        /* the one being written */
	uint64_t run_done; /* bytes of it written */
	uint64_t position; /* in the file, holes included */
};

static int writer_failed(struct tar_writer *tar, struct err *err)
{
	const char *text = lib.archive_error_string(tar->archive) ?: "unknown reason";
	int number = lib.archive_errno(tar->archive);

	if (number > 0 && number != ARCHIVE_ERRNO_FILE_FORMAT &&
		number != ARCHIVE_ERRNO_PROGRAMMER) {
		errno = number;
		return err_errno(err, "write archive");
	}
	return err_set(err, ERR_UNSUPPORTED, "cannot archive: %s", text);
}

struct tar_writer *tar_writer_open(int fd, struct err *err)
{
	if (library_need(err))
		return NULL;
	IN_C_LOCALE;
	struct tar_writer *tar = mem_zalloc(sizeof(*tar));
	tar->archive = lib.archive_write_new();
	tar->entry = lib.archive_entry_new();
	if (!tar->archive || !tar->entry) {
		(void)err_set(err, ERR_LIMIT, "out of memory for an archive");
		tar_writer_close(tar);
		return NULL;
	}
	if (lib.archive_write_set_format_pax(tar->archive) != ARCHIVE_OK ||
		lib.archive_write_set_format_option(tar->archive, "pax", "hdrcharset", "BINARY") !=
			ARCHIVE_OK ||
		lib.archive_write_set_format_option(tar->archive, "pax", "xattrheader", "SCHILY") !=
			ARCHIVE_OK ||
		lib.archive_write_set_bytes_per_block(tar->archive, TAR_RECORD * 25) !=
			ARCHIVE_OK ||
		lib.archive_write_set_bytes_in_last_block(tar->archive, TAR_RECORD) != ARCHIVE_OK ||
		lib.archive_write_open_fd(tar->archive, fd) != ARCHIVE_OK) {
		(void)writer_failed(tar, err);
		tar_writer_close(tar);
		return NULL;
	}
	return tar;
}

void tar_writer_close(struct tar_writer *tar)
{
	if (!tar)
		return;
	/* Freeing would write an end marker: an archive given up must not look whole. */
	if (tar->archive && !tar->finished)
		(void)lib.archive_write_fail(tar->archive);
	if (tar->archive)
		(void)lib.archive_write_free(tar->archive);
	if (tar->entry)
		lib.archive_entry_free(tar->entry);
	arena_release(&tar->arena);
	free(tar);
}

static int check_name(struct str name, const char *what, struct err *err)
{
	if (!name.len || memchr(name.ptr, '\0', name.len))
		return err_set(err, ERR_INVALID, "%s is empty or holds a NUL", what);
	if (name.len > PATH_LIMIT)
		return err_set(err, ERR_LIMIT, "%s has more than %zu bytes", what, PATH_LIMIT);
	return 0;
}

static int check_xattrs(const struct tar_member *member, struct err *err)
{
	/* A record has a length and a key besides; %XX triples a name at worst. */
	size_t total = member->path.len + member->link.len + member->n_xattrs * 64;

	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		if (!xattr->name.len || memchr(xattr->name.ptr, '\0', xattr->name.len))
			return err_set(err, ERR_INVALID, "an xattr name is empty or holds a NUL");
		if (xattr->name.len > XATTR_NAME_LIMIT || xattr->value.len > XATTR_VALUE_LIMIT)
			return err_set(err, ERR_LIMIT, "an xattr has more than %zu bytes",
				XATTR_VALUE_LIMIT);
		total += 3 * xattr->name.len + xattr->value.len;
	}
	if (member->n_xattrs > XATTR_COUNT_LIMIT || total > HEADER_LIMIT)
		return err_set(err, ERR_LIMIT,
			"path, link and xattrs have more than %zu bytes together", HEADER_LIMIT);
	return 0;
}

/* Extents ascend, do not touch each other's bytes, and stay inside the file. */
static int check_extents(const struct tar_member *member, struct err *err)
{
	uint64_t end = 0;

	if (member->size > INT64_MAX)
		return err_set(err, ERR_LIMIT, "a file of %ju bytes", (uintmax_t)member->size);
	if (member->n_extents > EXTENT_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT, "a sparse file has more than %zu extents",
			EXTENT_COUNT_LIMIT);
	for (size_t i = 0; i < member->n_extents; i++) {
		const struct tar_extent *extent = &member->extents[i];

		if (extent->offset < end || extent->offset > member->size ||
			extent->length > member->size - extent->offset)
			return err_set(
				err, ERR_INVALID, "the extents of a sparse file are out of order");
		end = extent->offset + extent->length;
	}
	return 0;
}

static void set_mtime(struct archive_entry *entry, int64_t mtime)
{
	int64_t seconds = mtime / NS_PER_S; /* both truncate: sign and magnitude */
	long fraction = (long)(mtime % NS_PER_S);

	lib.archive_entry_set_mtime(entry, seconds, fraction < 0 ? -fraction : fraction);
	if (!seconds && fraction < 0)
		lib.archive_entry_set_birthtime(entry, -1, -fraction);
}

/* Note what data is owed for the member, and tell the entry of its holes. */
static void set_runs(struct tar_writer *tar, const struct tar_member *member)
{
	size_t n = member->sparse ? member->n_extents : 1;

	tar->runs = arena_alloc(&tar->arena, (n ? n : 1) * sizeof(*tar->runs));
	if (!member->sparse) {
		tar->runs[tar->n_runs++] = (struct tar_extent){ 0, member->size };
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!member->extents[i].length)
			continue;
		tar->runs[tar->n_runs++] = member->extents[i];
		lib.archive_entry_sparse_add_entry(tar->entry, (int64_t)member->extents[i].offset,
			(int64_t)member->extents[i].length);
	}
	/* All hole: an empty run of data keeps the map from being empty, which means "none". */
	if (!tar->n_runs && member->size)
		lib.archive_entry_sparse_add_entry(tar->entry, 0, 0);
}

static void set_entry(struct tar_writer *tar, const struct tar_member *member)
{
	struct archive_entry *entry = tar->entry;
	mode_t type = member->mode & S_IFMT;

	lib.archive_entry_set_pathname(entry, arena_str(&tar->arena, member->path).ptr);
	lib.archive_entry_set_mode(
		entry, member->hardlink ? (member->mode & 07777) | S_IFREG : member->mode);
	lib.archive_entry_set_uid(entry, member->uid);
	lib.archive_entry_set_gid(entry, member->gid);
	set_mtime(entry, member->mtime);
	if (member->hardlink)
		lib.archive_entry_set_hardlink(entry, arena_str(&tar->arena, member->link).ptr);
	else if (type == S_IFLNK)
		lib.archive_entry_set_symlink(entry, arena_str(&tar->arena, member->link).ptr);
	if (type == S_IFCHR || type == S_IFBLK) {
		lib.archive_entry_set_rdevmajor(entry, member->major);
		lib.archive_entry_set_rdevminor(entry, member->minor);
	}
	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		lib.archive_entry_xattr_add_entry(entry, arena_str(&tar->arena, xattr->name).ptr,
			xattr->value.len ? xattr->value.ptr : "", xattr->value.len);
	}
	lib.archive_entry_set_size(entry, 0);
	if (!member->hardlink && type == S_IFREG) {
		lib.archive_entry_set_size(entry, (int64_t)member->size);
		set_runs(tar, member);
	}
}

/* Whether the data of the member before came in full; a caller's mistake otherwise. */
static int member_done(const struct tar_writer *tar, struct err *err)
{
	uint64_t owed = 0;

	for (size_t i = tar->run; i < tar->n_runs; i++)
		owed += tar->runs[i].length;
	if (owed == tar->run_done)
		return 0;
	return err_set(err, ERR_INVALID, "%ju bytes of the last member's data are missing",
		(uintmax_t)(owed - tar->run_done));
}

int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err)
{
	int rc;

	if ((rc = member_done(tar, err)) || (rc = check_name(member->path, "a path", err)) ||
		((member->hardlink || S_ISLNK(member->mode)) &&
			(rc = check_name(member->link, "a link target", err))) ||
		(rc = check_xattrs(member, err)) || (rc = check_extents(member, err)))
		return rc;
	IN_C_LOCALE;
	arena_release(&tar->arena);
	tar->arena = (struct arena){ 0 };
	tar->runs = NULL;
	tar->n_runs = tar->run = 0;
	tar->run_done = tar->position = 0;
	(void)lib.archive_entry_clear(tar->entry);
	set_entry(tar, member);
	if (lib.archive_write_header(tar->archive, tar->entry) != ARCHIVE_OK) {
		tar->n_runs = 0;
		(void)writer_failed(tar, err);
		return err_context(
			err, "member '%.100s'", lib.archive_entry_pathname(tar->entry) ?: "");
	}
	return 0;
}

static int write_all(struct tar_writer *tar, const char *bytes, size_t len, struct err *err)
{
	while (len) {
		la_ssize_t n = lib.archive_write_data(tar->archive, bytes, len);

		if (n <= 0)
			return writer_failed(tar, err);
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* libarchive wants the bytes of holes too, counts them, and drops them unread. */
static int write_hole(struct tar_writer *tar, uint64_t len, struct err *err)
{
	static const char zeros[1 << 20];

	while (len) {
		size_t part = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
		int rc = write_all(tar, zeros, part, err);

		if (rc)
			return rc;
		len -= part;
	}
	return 0;
}

int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	const char *from = bytes;
	int rc;

	while (len) {
		if (tar->run == tar->n_runs)
			return err_set(err, ERR_INVALID, "more data than the member's size");
		const struct tar_extent *run = &tar->runs[tar->run];
		uint64_t left = run->length - tar->run_done;
		size_t part = len < left ? len : (size_t)left;
		uint64_t start = run->offset + tar->run_done;

		if ((rc = write_hole(tar, start - tar->position, err)) ||
			(rc = write_all(tar, from, part, err)))
			return rc;
		tar->position = start + part;
		tar->run_done += part;
		from += part;
		len -= part;
		if (tar->run_done == run->length) {
			tar->run++;
			tar->run_done = 0;
		}
	}
	return 0;
}

int tar_writer_finish(struct tar_writer *tar, struct err *err)
{
	int rc = member_done(tar, err);

	if (rc)
		return rc;
	IN_C_LOCALE;
	if (lib.archive_write_finish_entry(tar->archive) != ARCHIVE_OK ||
		lib.archive_write_close(tar->archive) != ARCHIVE_OK)
		return writer_failed(tar, err);
	tar->finished = true;
	return 0;
}

#endif /* !TAR_STATIC_NONE */

void tar_reader_closep(struct tar_reader **tar)
{
	tar_reader_close(*tar);
}

void tar_writer_closep(struct tar_writer **tar)
{
	tar_writer_close(*tar);
}
