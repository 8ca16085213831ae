/*
 * Reading is libarchive's; writing is ours, a small pax writer, because
 * libarchive 3.6 cuts the names of sparse files to 100 bytes, writes a map no
 * other program reads for a file that is all hole, prints times before the epoch
 * wrong, and marks every member hdrcharset=BINARY or converts its name.
 *
 * What libarchive's reader does not settle by itself is settled here:
 *
 * Names.  It converts names in pax records from UTF-8 to the locale, and keeps
 * the bytes as they are when that fails.  In the "C" locale it fails for every
 * name that is not ASCII, so we read under that one (uselocale, this thread
 * only) and get bytes whatever the program's locale is.  The price is a warning
 * per such name, told apart from real ones by its error number.
 *
 * Times.  pax writes a negative time as sign and magnitude: -1.25 is one and a
 * quarter seconds before the epoch.  libarchive parses seconds and fraction apart
 * and leaves the sign to the seconds; we put them together again.  The sign is
 * lost for the last second before the epoch, -0.25; for those we write a creation
 * time of -1.25 too, which nothing on Linux restores, and look for it.
 *
 * ACLs.  Ours travel as SCHILY.xattr.system.posix_acl_*, byte for byte, and as
 * text (SCHILY.acl.*) for other programs.  Where there is only text it becomes
 * the same xattrs; the ids in it are resolved here.  The header's
 * group bits of such a member are the mask, but libarchive replaces them by the
 * entry group::, so they are taken back from the mask.
 *
 * Xattr names.  GNU tar and libarchive write '%' and '=' (the latter more) as %XX
 * in SCHILY names but only GNU tar undoes it: we do.
 *
 * End.  libarchive takes the end of the file for the end of the archive.  An
 * archive cut between two members would read as a shorter good one, so the end
 * marker is required: reading it moves the position by a block at least.
 */
#include "core/tar.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"

#ifndef TAR_STATIC_NONE
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <grp.h>
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#endif

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

/* --- POSIX ACLs as the kernel has them in an xattr: version, then tag, permissions, id --- */

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

#define ACL_ACCESS STR("system.posix_acl_access")
#define ACL_DEFAULT STR("system.posix_acl_default")

/* --- writing --- */

struct tar_writer {
	int fd;     /* borrowed */
	int failed; /* errno of the first failed write: nothing is written after it */
	struct buf out;
	uint64_t written; /* bytes of archive so far, for the padding */
	/* What is owed of the current member's data, and the padding after it. */
	uint64_t owed;
	size_t padding;
};

/* The header block of a member.  All fields are text; octal numbers. */
struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[8]; /* and version */
	char uname[32];
	char gname[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char padding[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is one block");

/* The largest numbers the fields hold; larger ones go into a pax record. */
#define OCTAL_7 ((uint64_t)07777777)
#define OCTAL_11 ((uint64_t)077777777777)

static int flush(struct tar_writer *tar, struct err *err)
{
	size_t done = 0;

	while (!tar->failed && done < tar->out.len) {
		ssize_t n = write(tar->fd, tar->out.data + done, tar->out.len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			tar->failed = errno;
	}
	if (tar->failed) {
		errno = tar->failed;
		return err_errno(err, "write archive");
	}
	buf_clear(&tar->out);
	return 0;
}

static int put(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	const char *from = bytes;

	while (len) {
		size_t room = IO_SIZE - tar->out.len;
		size_t part = len < room ? len : room;

		buf_add(&tar->out, from, part);
		from += part;
		len -= part;
		tar->written += part;
		if (tar->out.len == IO_SIZE) {
			int rc = flush(tar, err);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static size_t padding_of(uint64_t size, size_t unit)
{
	return (size_t)((unit - size % unit) % unit);
}

static int put_padding(struct tar_writer *tar, size_t len, struct err *err)
{
	static const char zeros[TAR_RECORD];

	return put(tar, zeros, len, err);
}

struct tar_writer *tar_writer_open(int fd, struct err *err)
{
	struct tar_writer *tar = mem_zalloc(sizeof(*tar));

	(void)err;
	tar->fd = fd;
	tar->out.max = 2 * IO_SIZE;
	return tar;
}

/* What is still in the buffer is dropped: an archive given up must not look whole. */
void tar_writer_close(struct tar_writer *tar)
{
	if (!tar)
		return;
	buf_release(&tar->out);
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
	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		if (!xattr->name.len || memchr(xattr->name.ptr, '\0', xattr->name.len))
			return err_set(err, ERR_INVALID, "an xattr name is empty or holds a NUL");
		if (xattr->name.len > XATTR_NAME_LIMIT)
			return err_set(err, ERR_LIMIT, "an xattr name has more than %zu bytes",
				XATTR_NAME_LIMIT);
		if (xattr->value.len > XATTR_VALUE_LIMIT)
			return err_set(err, ERR_LIMIT, "an xattr has more than %zu bytes",
				XATTR_VALUE_LIMIT);
	}
	if (member->n_xattrs > XATTR_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT, "more than %zu xattrs", XATTR_COUNT_LIMIT);
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
	for (size_t i = 0; member->sparse && i < member->n_extents; i++) {
		const struct tar_extent *extent = &member->extents[i];

		if (extent->offset < end || extent->offset > member->size ||
			extent->length > member->size - extent->offset)
			return err_set(
				err, ERR_INVALID, "the extents of a sparse file are out of order");
		end = extent->offset + extent->length;
	}
	return 0;
}

static char type_flag(const struct tar_member *member)
{
	if (member->hardlink)
		return '1';
	switch (member->mode & S_IFMT) {
	case S_IFREG:
		return '0';
	case S_IFLNK:
		return '2';
	case S_IFCHR:
		return '3';
	case S_IFBLK:
		return '4';
	case S_IFDIR:
		return '5';
	case S_IFIFO:
		return '6';
	}
	return '\0';
}

static int check_member(const struct tar_member *member, struct err *err)
{
	int rc = check_name(member->path, "a path", err);

	if (rc)
		return rc;
	if (!type_flag(member))
		return err_set(err, ERR_UNSUPPORTED, "'%.*s' is a %s: archives have no such type",
			(int)(member->path.len < 100 ? member->path.len : 100), member->path.ptr,
			S_ISSOCK(member->mode) ? "socket" : "file of unknown type");
	if (member->hardlink || S_ISLNK(member->mode))
		rc = check_name(member->link, "a link target", err);
	if (rc || (rc = check_xattrs(member, err)))
		return rc;
	return check_extents(member, err);
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts its own digits. */
static void add_record(struct buf *records, struct str prefix, struct str key, struct str value)
{
	size_t rest = prefix.len + key.len + value.len + 3;
	size_t len = rest + 1;

	while ((size_t)snprintf(NULL, 0, "%zu", len) + rest != len)
		len = (size_t)snprintf(NULL, 0, "%zu", len) + rest;
	buf_addf(records, "%zu ", len);
	buf_add(records, prefix.ptr, prefix.len);
	buf_add(records, key.ptr, key.len);
	buf_addc(records, '=');
	buf_add(records, value.ptr, value.len);
	buf_addc(records, '\n');
}

static void add_text(struct buf *records, const char *key, const char *value)
{
	add_record(records, STR(""), str_of(key), str_of(value));
}

static void add_number(struct buf *records, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)number);
	add_text(records, key, text);
}

static void add_time(
	struct buf *records, const char *key, bool negative, uint64_t seconds, unsigned fraction)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%ju.%09u", negative ? "-" : "", (uintmax_t)seconds,
		fraction);
	add_text(records, key, text);
}

static void add_mtime(struct buf *records, int64_t mtime)
{
	uint64_t magnitude = mtime < 0 ? -(uint64_t)mtime : (uint64_t)mtime;
	uint64_t seconds = magnitude / NS_PER_S;
	unsigned fraction = (unsigned)(magnitude % NS_PER_S);

	if (mtime >= 0 && !fraction && seconds <= OCTAL_11)
		return;
	add_time(records, "mtime", mtime < 0, seconds, fraction);
	if (mtime < 0 && !seconds)
		add_time(records, "LIBARCHIVE.creationtime", true, 1, fraction);
}

static uint32_t get_le(const char *bytes, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint32_t)(unsigned char)bytes[i] << (8 * i);
	return value;
}

/* One entry as "user:1000:rw-"; false if it is none. */
static bool add_acl_entry(struct buf *text, const char *entry)
{
	static const struct {
		unsigned tag;
		const char *name;
	} names[] = { { ACL_USER_OBJ, "user" }, { ACL_USER, "user" }, { ACL_GROUP_OBJ, "group" },
		{ ACL_GROUP, "group" }, { ACL_MASK, "mask" }, { ACL_OTHER, "other" } };
	unsigned tag = get_le(entry, 2);
	unsigned perm = get_le(entry + 2, 2);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].tag != tag)
			continue;
		buf_addf(text, "%s%s:", text->len ? "," : "", names[i].name);
		if (tag == ACL_USER || tag == ACL_GROUP)
			buf_addf(text, "%u", get_le(entry + 4, 4));
		buf_addf(text, ":%c%c%c", perm & 4 ? 'r' : '-', perm & 2 ? 'w' : '-',
			perm & 1 ? 'x' : '-');
		return true;
	}
	return false;
}

/* The text form too: tar --acls takes nothing else.  Our reader prefers the xattr itself. */
static void add_acl(struct buf *records, const char *key, struct str value)
{
	owned(buf_release) struct buf text = { .max = HEADER_LIMIT };

	if (value.len < ACL_HEADER_SIZE || (value.len - ACL_HEADER_SIZE) % ACL_ENTRY_SIZE ||
		get_le(value.ptr, 4) != ACL_VERSION)
		return;
	for (size_t at = ACL_HEADER_SIZE; at < value.len; at += ACL_ENTRY_SIZE)
		if (!add_acl_entry(&text, value.ptr + at))
			return;
	add_record(records, STR(""), str_of(key), (struct str){ text.data, text.len });
}

/* '=' would end the key, and '%' is how GNU tar spells it. */
static void add_xattr(struct buf *records, const struct tar_xattr *xattr)
{
	char name[3 * XATTR_NAME_LIMIT + 1];
	size_t len = 0;

	for (size_t i = 0; i < xattr->name.len; i++) {
		char c = xattr->name.ptr[i];

		if (c == '%' || c == '=')
			len += (size_t)snprintf(name + len, 4, "%%%02X", (unsigned)c);
		else
			name[len++] = c;
	}
	add_record(records, STR("SCHILY.xattr."), (struct str){ name, len }, xattr->value);
}

/* What the header block has no room for.  Names that fit it need no charset: they are bytes. */
static void add_records(struct buf *records, const struct tar_member *member, uint64_t stored)
{
	bool path = !member->sparse && member->path.len > sizeof(((struct header *)0)->name);
	bool link = member->link.len > sizeof(((struct header *)0)->link) &&
		    (member->hardlink || S_ISLNK(member->mode));

	if (((path || member->sparse) && !text_is_utf8(member->path)) ||
		(link && !text_is_utf8(member->link)))
		add_text(records, "hdrcharset", "BINARY");
	if (path)
		add_record(records, STR(""), STR("path"), member->path);
	if (link)
		add_record(records, STR(""), STR("linkpath"), member->link);
	if (member->uid > OCTAL_7)
		add_number(records, "uid", member->uid);
	if (member->gid > OCTAL_7)
		add_number(records, "gid", member->gid);
	if (stored > OCTAL_11)
		add_number(records, "size", stored);
	add_mtime(records, member->mtime);
	if (member->major > OCTAL_7)
		add_number(records, "SCHILY.devmajor", member->major);
	if (member->minor > OCTAL_7)
		add_number(records, "SCHILY.devminor", member->minor);
	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		add_xattr(records, xattr);
		if (str_eq(xattr->name, ACL_ACCESS))
			add_acl(records, "SCHILY.acl.access", xattr->value);
		if (str_eq(xattr->name, ACL_DEFAULT))
			add_acl(records, "SCHILY.acl.default", xattr->value);
	}
	if (member->sparse) {
		add_text(records, "GNU.sparse.major", "1");
		add_text(records, "GNU.sparse.minor", "0");
		add_record(records, STR(""), STR("GNU.sparse.name"), member->path);
		add_number(records, "GNU.sparse.realsize", member->size);
	}
}

/* The map of a sparse file stands before its data; one that ends in a hole has an empty run there.
 */
static void add_map(struct buf *map, const struct tar_member *member)
{
	const struct tar_extent *last = NULL;
	size_t runs = 0;

	for (size_t i = 0; i < member->n_extents; i++) {
		if (!member->extents[i].length)
			continue;
		last = &member->extents[i];
		runs++;
	}
	bool hole = !last || last->offset + last->length < member->size;
	buf_addf(map, "%zu\n", runs + hole);
	for (size_t i = 0; i < member->n_extents; i++)
		if (member->extents[i].length)
			buf_addf(map, "%ju\n%ju\n", (uintmax_t)member->extents[i].offset,
				(uintmax_t)member->extents[i].length);
	if (hole)
		buf_addf(map, "%ju\n0\n", (uintmax_t)member->size);
	for (size_t pad = padding_of(map->len, TAR_BLOCK); pad; pad--)
		buf_addc(map, '\0');
}

/* Fill a numeric field of size bytes, the last a NUL; what does not fit has a record. */
static void set_octal(char *field, size_t size, uint64_t number)
{
	uint64_t max = size == 12 ? OCTAL_11 : OCTAL_7;
	char text[24];

	snprintf(
		text, sizeof(text), "%0*jo", (int)size - 1, (uintmax_t)(number > max ? 0 : number));
	memcpy(field, text, size);
}

static void set_name(char *field, size_t size, struct str name)
{
	if (name.len)
		memcpy(field, name.ptr, name.len < size ? name.len : size);
}

static void set_checksum(struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned sum = 0;

	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
}

static void set_common(struct header *header, char type, mode_t mode, uint64_t size)
{
	header->type = type;
	memcpy(header->magic, "ustar\00000", sizeof(header->magic));
	set_octal(header->mode, sizeof(header->mode), mode & 07777);
	set_octal(header->uid, sizeof(header->uid), 0);
	set_octal(header->gid, sizeof(header->gid), 0);
	set_octal(header->size, sizeof(header->size), size);
	set_octal(header->mtime, sizeof(header->mtime), 0);
	set_octal(header->major, sizeof(header->major), 0);
	set_octal(header->minor, sizeof(header->minor), 0);
}

/* The pax header, if there are records; programs that do not know it see a file of this name. */
static int put_records(struct tar_writer *tar, const struct buf *records, struct err *err)
{
	struct header header = { 0 };
	int rc;

	if (!records->len)
		return 0;
	set_common(&header, 'x', 0644, records->len);
	set_name(header.name, sizeof(header.name), STR("PaxHeaders/member"));
	set_checksum(&header);
	if ((rc = put(tar, &header, sizeof(header), err)) ||
		(rc = put(tar, records->data, records->len, err)))
		return rc;
	return put_padding(tar, padding_of(records->len, TAR_BLOCK), err);
}

static int put_header(
	struct tar_writer *tar, const struct tar_member *member, uint64_t stored, struct err *err)
{
	struct header header = { 0 };

	set_common(&header, type_flag(member), member->mode, stored);
	set_name(header.name, sizeof(header.name),
		member->sparse ? STR("GNUSparseFile.0/member") : member->path);
	if (member->hardlink || S_ISLNK(member->mode))
		set_name(header.link, sizeof(header.link), member->link);
	set_octal(header.uid, sizeof(header.uid), member->uid);
	set_octal(header.gid, sizeof(header.gid), member->gid);
	set_octal(header.mtime, sizeof(header.mtime),
		member->mtime < 0 ? 0 : (uint64_t)member->mtime / NS_PER_S);
	set_octal(header.major, sizeof(header.major), member->major);
	set_octal(header.minor, sizeof(header.minor), member->minor);
	set_checksum(&header);
	return put(tar, &header, sizeof(header), err);
}

/* Whether the data of the member before came in full; a caller's mistake otherwise. */
static int member_done(const struct tar_writer *tar, struct err *err)
{
	if (!tar->owed)
		return 0;
	return err_set(err, ERR_INVALID, "%ju bytes of the last member's data are missing",
		(uintmax_t)tar->owed);
}

int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err)
{
	owned(buf_release) struct buf records = { .max = HEADER_LIMIT };
	owned(buf_release) struct buf map = BUF_INIT;
	struct tar_member plain = *member;
	uint64_t owed = 0;
	int rc;

	if ((rc = member_done(tar, err)) || (rc = check_member(member, err)))
		return rc;
	plain.sparse = type_flag(member) == '0' && member->sparse && member->size;
	if (plain.sparse) {
		for (size_t i = 0; i < member->n_extents; i++)
			owed += member->extents[i].length;
		add_map(&map, member);
	} else if (type_flag(member) == '0') {
		owed = member->size;
	}
	uint64_t stored = map.len + owed;
	add_records(&records, &plain, stored);
	if (records.overflowed || map.overflowed)
		return err_set(err, ERR_LIMIT,
			"path, link and xattrs have more than %zu bytes together", HEADER_LIMIT);
	if ((rc = put_records(tar, &records, err)) || (rc = put_header(tar, &plain, stored, err)) ||
		(rc = put(tar, map.data, map.len, err)))
		return rc;
	tar->owed = owed;
	tar->padding = padding_of(stored, TAR_BLOCK);
	return owed ? 0 : put_padding(tar, tar->padding, err);
}

int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	if (len > tar->owed)
		return err_set(err, ERR_INVALID, "more data than the member's size");
	int rc = put(tar, bytes, len, err);
	if (rc || !len)
		return rc;
	tar->owed -= len;
	return tar->owed ? 0 : put_padding(tar, tar->padding, err);
}

int tar_writer_finish(struct tar_writer *tar, struct err *err)
{
	int rc;

	if ((rc = member_done(tar, err)) || (rc = put_padding(tar, 2 * TAR_BLOCK, err)) ||
		(rc = put_padding(tar, padding_of(tar->written, TAR_RECORD), err)))
		return rc;
	return flush(tar, err);
}

void tar_writer_closep(struct tar_writer **tar)
{
	tar_writer_close(*tar);
}

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

#else

/* --- the library --- */

#define LIBRARY "libarchive.so.13"
#define PACKAGE "libarchive13"
#define ERRNO_FORMAT EILSEQ /* ARCHIVE_ERRNO_FILE_FORMAT of its private headers */

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
#define IN_C_LOCALE                                                                                \
	owned(locale_leave) __attribute__((unused)) locale_t outside_ = uselocale(library.c_locale)

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

static void read_mtime(struct archive_entry *entry, struct tar_member *member)
{
	int64_t seconds = lib.archive_entry_mtime(entry);
	int64_t fraction = lib.archive_entry_mtime_nsec(entry);
	int64_t ns;

	if (seconds < 0 || (!seconds && lib.archive_entry_birthtime_is_set(entry) &&
				   lib.archive_entry_birthtime(entry) == -1 &&
				   lib.archive_entry_birthtime_nsec(entry) == fraction))
		fraction = -fraction;
	member->mtime_clamped = __builtin_mul_overflow(seconds, (int64_t)NS_PER_S, &ns) ||
				__builtin_add_overflow(ns, fraction, &ns);
	if (member->mtime_clamped)
		ns = seconds < 0 ? INT64_MIN : INT64_MAX;
	member->mtime = ns;
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

/* --- text ACLs --- */

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

	if (!(lib.archive_entry_acl_types(entry) & type))
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
	if (!count || (type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS && count <= 3) ||
		xattrs_has(xattrs, name))
		return 0;
	qsort(list, count, sizeof(*list), compare_acl);
	xattrs_add(xattrs, name, acl_encode(&tar->arena, list, count));
	return 0;
}

static mode_t class_bits(mode_t mode, unsigned shift, unsigned perm)
{
	return (mode & ~((mode_t)7 << shift)) | (mode_t)(perm & 7) << shift;
}

/* The bits of a mode are those of its ACL, as the kernel sees to when one is set. */
static void agree_with_acl(const struct xattrs *xattrs, mode_t *mode)
{
	struct str acl = { 0 };
	bool masked = false;

	for (size_t i = 0; i < xattrs->count; i++)
		if (str_eq(xattrs->list[i].name, ACL_ACCESS))
			acl = xattrs->list[i].value;
	if (acl.len < ACL_HEADER_SIZE || (acl.len - ACL_HEADER_SIZE) % ACL_ENTRY_SIZE ||
		get_le(acl.ptr, 4) != ACL_VERSION)
		return;
	for (size_t at = ACL_HEADER_SIZE; at < acl.len; at += ACL_ENTRY_SIZE) {
		unsigned tag = get_le(acl.ptr + at, 2), perm = get_le(acl.ptr + at + 2, 2);

		if (tag == ACL_USER_OBJ)
			*mode = class_bits(*mode, 6, perm);
		else if (tag == ACL_MASK || (tag == ACL_GROUP_OBJ && !masked))
			*mode = class_bits(*mode, 3, perm);
		else if (tag == ACL_OTHER)
			*mode = class_bits(*mode, 0, perm);
		masked |= tag == ACL_MASK;
	}
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
	agree_with_acl(xattrs, mode);
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

#endif /* !TAR_STATIC_NONE */

void tar_reader_closep(struct tar_reader **tar)
{
	tar_reader_close(*tar);
}
