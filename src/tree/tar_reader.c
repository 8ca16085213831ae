/*
 * libarchive reads the archive.  This file corrects the faults of libarchive:
 *
 * Names.  libarchive converts the names in pax records from UTF-8 to the locale.  If the conversion
 * fails, libarchive keeps the bytes as they are.  In the "C" locale, the conversion fails for every
 * name that is not ASCII.  So this file reads in the "C" locale (uselocale, for this thread only),
 * and gets the bytes whatever the locale of the program is.  Each such name causes a warning.  This
 * warning has an error number that real warnings do not have.
 *
 * Times.  pax writes a negative time as sign and magnitude: -1.25 is one and a quarter seconds
 * before the epoch.  libarchive applies the sign only to the seconds, so this file applies the sign
 * to the fraction, too.  If the seconds are 0, as in -0.25, libarchive loses the sign.  So our
 * writer adds to such a member a creation time with the same fraction, here -1.25, and this file
 * looks for the creation time.  The creation time does no harm, since no program on Linux restores
 * it.
 *
 * ACLs.  Our archives have each ACL twice: byte for byte as SCHILY.xattr.system.posix_acl_*, and as
 * text (SCHILY.acl.*) for other programs.  If a member has an ACL only as text, this file makes the
 * xattr from the text, and finds the ids of the users and groups.  The header of such a member has
 * the mask of the ACL in its group bits.  libarchive replaces these bits by those of the ACL's
 * entry "group::", so this file sets them from the mask again.
 *
 * Xattr names.  In SCHILY names, GNU tar writes '%' and '=' as %XX, and libarchive writes more
 * characters as %XX.  GNU tar decodes the names when it reads an archive, but libarchive does not.
 * So this file decodes them.
 *
 * End.  libarchive takes the end of the file for the end of the archive.  So an archive that was
 * cut off between two members would look like a complete one with fewer members.  This file
 * requires the end marker.  It detects the marker by libarchive's position: after the marker was
 * read, the position is at least a block behind the end of the last member.
 */
#include "tree/tar_priv.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/library.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

/* --- the library --- */

#define ERRNO_FORMAT EILSEQ /* ARCHIVE_ERRNO_FILE_FORMAT in libarchive's private headers */

#define FUNCTIONS(X)                                                                               \
	X(archive_version_string)                                                                  \
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
	X(archive_entry_acl_next)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static const struct library_function functions[] = { FUNCTIONS(LIBRARY_FUNCTION) };

static locale_t c_locale;

static bool make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	return c_locale != (locale_t)0;
}

static struct library library = {
	.purpose = "archive",
	.file = "libarchive.so.13",
	.package = "libarchive13",
	.functions = functions,
	.n_functions = sizeof(functions) / sizeof(*functions),
	.start = make_c_locale,
};

const char *tar_reader_library(struct err *err)
{
	return library_need(&library, err) ? NULL : lib.archive_version_string();
}

/*
 * Set the "C" locale until the end of the block, since libarchive keeps the bytes of names only in
 * that locale.  Every function that asks libarchive for a name must begin with this macro.
 */
#define IN_C_LOCALE                                                                                \
	owned(locale_leave) __attribute__((unused)) locale_t outside_ = uselocale(c_locale)

static void locale_leave(locale_t *outside)
{
	(void)uselocale(*outside);
}

/* --- reading --- */

struct tar_reader {
	struct archive *archive;
	struct arena arena; /* data of the current member that the archive_entry does not contain */
	bool ended;
};

/*
 * Set err to the error of libarchive, and read nothing more.  The archive counts as damaged, except
 * when a read of the file itself has failed.
 */
static int reader_failed(struct tar_reader *tar, struct err *err)
{
	const char *text = lib.archive_error_string(tar->archive) ?: "unknown damage";
	int number = lib.archive_errno(tar->archive);

	tar->ended = true;
	if (number == EIO || number == EISDIR || number == EBADF || number == ENOMEM)
		return err_number(err, number, "read archive");
	return err_set(err, ERR_CORRUPT, "damaged archive: %s", text);
}

struct tar_reader *tar_reader_open(int fd, struct err *err)
{
	if (library_need(&library, err))
		return NULL;
	IN_C_LOCALE;
	struct tar_reader *tar = mem_zalloc(sizeof(*tar));
	tar->archive = lib.archive_read_new();
	if (!tar->archive) {
		(void)err_set(err, ERR_LIMIT, "out of memory for an archive");
		tar_reader_close(tar);
		return NULL;
	}
	/*
	 * The results are ignored, since a negative result may be a mere warning that libarchive
	 * would call an external program for this filter.
	 */
	(void)lib.archive_read_support_filter_gzip(tar->archive);
	(void)lib.archive_read_support_filter_xz(tar->archive);
	(void)lib.archive_read_support_filter_zstd(tar->archive);
	(void)lib.archive_read_support_filter_bzip2(tar->archive);
	(void)lib.archive_read_support_format_tar(tar->archive);
	if (lib.archive_read_open_fd(tar->archive, fd, TAR_IO_SIZE) != ARCHIVE_OK) {
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
	if (strlen(name) > TAR_PATH_LIMIT)
		return err_set(err, ERR_LIMIT, "%s in the archive has more than %zu bytes", what,
			TAR_PATH_LIMIT);
	*out = str_of(name);
	return 0;
}

static void read_mtime(struct archive_entry *entry, struct tar_member *member)
{
	int64_t seconds = lib.archive_entry_mtime(entry);
	int64_t fraction = lib.archive_entry_mtime_nsec(entry);
	int64_t ns;

	if (seconds < 0 || (!seconds && lib.archive_entry_birthtime_is_set(entry) &&
				   lib.archive_entry_birthtime(entry) == -1 &&
				   lib.archive_entry_birthtime_nsec(entry) == fraction))
		fraction = -fraction;
	member->mtime_clamped = __builtin_mul_overflow(seconds, (int64_t)TAR_NS_PER_S, &ns) ||
				__builtin_add_overflow(ns, fraction, &ns);
	if (member->mtime_clamped)
		ns = seconds < 0 ? INT64_MIN : INT64_MAX;
	member->mtime = ns;
}

/* Returns a copy of a name in which each %XX is decoded. */
static struct str decode_name(struct arena *arena, struct str name)
{
	char *out = arena_alloc(arena, name.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < name.len; i++) {
		int high = -1, low = -1;

		if (name.ptr[i] == '%' && i + 2 < name.len) {
			high = text_hex_value(name.ptr[i + 1]);
			low = text_hex_value(name.ptr[i + 2]);
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
	size_t count, cap;
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

/*
 * Collect the xattrs of a member.  bsdtar writes each xattr twice, in two notations.  Only the
 * first one is used.
 */
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
		if (plain.len > TAR_XATTR_NAME_LIMIT || len > TAR_XATTR_VALUE_LIMIT)
			return err_set(err, ERR_LIMIT, "xattr '%.80s' has more than %zu bytes",
				plain.ptr,
				plain.len > TAR_XATTR_NAME_LIMIT ? TAR_XATTR_NAME_LIMIT
								 : TAR_XATTR_VALUE_LIMIT);
		if (xattrs_has(xattrs, plain))
			continue;
		if (xattrs->count == TAR_XATTR_COUNT_LIMIT)
			return err_set(err, ERR_LIMIT, "a member has more than %zu xattrs",
				TAR_XATTR_COUNT_LIMIT);
		xattrs_add(xattrs, plain, (struct str){ value, len });
	}
	return 0;
}

/* --- text ACLs --- */

#define ACL_COUNT_LIMIT ((size_t)8000) /* number of entries; an xattr has room for few more */

/*
 * Find the id of a user or group in the text of an ACL.  The text always has a name.  If bsdtar or
 * star wrote the text, it has a number, too.  Otherwise the parameter 'number' is -1.
 */
static int resolve_acl_id(bool user, int number, const char *name, uint32_t *id, struct err *err)
{
	char *end;

	if (number != -1) {
		*id = (uint32_t)number;
		return 0;
	}
	if (name && *name) {
		unsigned long value = strtoul(name, &end, 10);
		if (!*end && value < TAR_ACL_NO_ID) {
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

static unsigned to_kernel_tag(int tag)
{
	switch (tag) {
	case ARCHIVE_ENTRY_ACL_USER_OBJ:
		return TAR_ACL_USER_OBJ;
	case ARCHIVE_ENTRY_ACL_USER:
		return TAR_ACL_USER;
	case ARCHIVE_ENTRY_ACL_GROUP_OBJ:
		return TAR_ACL_GROUP_OBJ;
	case ARCHIVE_ENTRY_ACL_GROUP:
		return TAR_ACL_GROUP;
	case ARCHIVE_ENTRY_ACL_MASK:
		return TAR_ACL_MASK;
	case ARCHIVE_ENTRY_ACL_OTHER:
		return TAR_ACL_OTHER;
	}
	return 0;
}

/*
 * Add an ACL of the member to xattrs.  The ACL is left out if it contains no more than the mode
 * bits, or if xattrs already has it.  If the ACL has a mask, *mask is set to that mask.
 */
static int read_acl(struct tar_reader *tar, struct archive_entry *entry, int type, struct str name,
	struct xattrs *xattrs, int *mask, struct err *err)
{
	owned_mem struct tar_acl_entry *list = NULL;
	size_t count = 0, cap = 0;
	int permset, tag, number, entry_type, rc;
	const char *who;

	if (!(lib.archive_entry_acl_types(entry) & type))
		return 0;
	(void)lib.archive_entry_acl_reset(entry, type);
	while (lib.archive_entry_acl_next(
		       entry, type, &entry_type, &permset, &tag, &number, &who) == ARCHIVE_OK) {
		struct tar_acl_entry one = { to_kernel_tag(tag), (unsigned)permset & 7,
			TAR_ACL_NO_ID };

		if (one.tag == TAR_ACL_USER || one.tag == TAR_ACL_GROUP) {
			rc = resolve_acl_id(one.tag == TAR_ACL_USER, number, who, &one.id, err);
			if (rc)
				return rc;
		}
		if (!one.tag)
			return err_set(
				err, ERR_UNSUPPORTED, "the archive has ACLs that are not POSIX");
		if (count == ACL_COUNT_LIMIT)
			return err_set(err, ERR_LIMIT,
				"an ACL in the archive has more than %zu entries", ACL_COUNT_LIMIT);
		if (one.tag == TAR_ACL_MASK)
			*mask = (int)one.perm;
		mem_grow(&list, &cap, count);
		list[count++] = one;
	}
	if (!count || (type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS && count <= 3) ||
		xattrs_has(xattrs, name))
		return 0;
	xattrs_add(xattrs, name, tar_acl_encode(&tar->arena, list, count));
	return 0;
}

static mode_t class_bits(mode_t mode, unsigned shift, unsigned perm)
{
	return (mode & ~((mode_t)7 << shift)) | (mode_t)(perm & 7) << shift;
}

/* Derive the mode bits from the ACL, as the kernel does when an ACL is set. */
static void set_mode_from_acl(const struct xattrs *xattrs, mode_t *mode)
{
	struct str acl = { 0 };
	bool masked = false;

	for (size_t i = 0; i < xattrs->count; i++)
		if (str_eq(xattrs->list[i].name, TAR_ACL_ACCESS))
			acl = xattrs->list[i].value;
	if (!tar_acl_is_whole(acl))
		return;
	for (size_t i = 0; i < tar_acl_count(acl); i++) {
		struct tar_acl_entry entry = tar_acl_entry(acl, i);

		if (entry.tag == TAR_ACL_USER_OBJ)
			*mode = class_bits(*mode, 6, entry.perm);
		else if (entry.tag == TAR_ACL_MASK || (entry.tag == TAR_ACL_GROUP_OBJ && !masked))
			*mode = class_bits(*mode, 3, entry.perm);
		else if (entry.tag == TAR_ACL_OTHER)
			*mode = class_bits(*mode, 0, entry.perm);
		masked |= entry.tag == TAR_ACL_MASK;
	}
}

static int read_acls(struct tar_reader *tar, struct archive_entry *entry, struct xattrs *xattrs,
	mode_t *mode, struct err *err)
{
	int mask = -1, ignored = -1;
	int rc = read_acl(
		tar, entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, TAR_ACL_ACCESS, xattrs, &mask, err);

	if (rc)
		return rc;
	if (mask >= 0)
		*mode = (*mode & ~(mode_t)0070) | (mode_t)mask << 3;
	set_mode_from_acl(xattrs, mode);
	return read_acl(
		tar, entry, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, TAR_ACL_DEFAULT, xattrs, &ignored, err);
}

static int read_extents(struct tar_reader *tar, struct archive_entry *entry,
	struct tar_member *member, struct err *err)
{
	int total = lib.archive_entry_sparse_reset(entry);
	int64_t offset, length;

	if (total <= 0)
		return 0;
	if ((size_t)total > TAR_EXTENT_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT,
			"a sparse file in the archive has more than %zu extents",
			TAR_EXTENT_COUNT_LIMIT);
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

/* Read everything of a member except its path. */
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
	read_mtime(entry, member);
	if ((rc = read_id(lib.archive_entry_uid(entry), &member->uid, err)) ||
		(rc = read_id(lib.archive_entry_gid(entry), &member->gid, err)) ||
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
	/*
	 * Skip the rest of the previous member, so that the position in the archive, which is read
	 * below, is the end of that member.
	 */
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
	/* libarchive warns that it keeps the bytes of a name.  That warning is harmless. */
	if (status != ARCHIVE_OK &&
		!(status == ARCHIVE_WARN && lib.archive_errno(tar->archive) == ERRNO_FORMAT))
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

void tar_reader_closep(struct tar_reader **tar)
{
	tar_reader_close(*tar);
}
