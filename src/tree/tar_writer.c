/*
 * A small pax writer.  The writer of libarchive 3.6 has four faults.  It cuts the names of sparse
 * files to 100 bytes.  For a file that is one hole, it writes a map that no other program reads.
 * It prints times before the epoch wrong.  It also either adds the record hdrcharset=BINARY to
 * every member, or converts the names of members.
 *
 * tar_reader.c describes how times before the epoch and ACLs are stored.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "tree/tar_priv.h"

#define TAR_RECORD (20 * TAR_BLOCK) /* the size of an archive is a multiple of this, by custom */

struct tar_writer {
	int fd;     /* borrowed */
	int failed; /* errno of the first failed write; nothing is written after that failure */
	struct buf out;
	uint64_t written; /* bytes of the archive so far, to compute the padding at the end */
	/*
	 * Bytes of data that the current member still lacks, and bytes of padding after its data.
	 */
	uint64_t owed;
	size_t padding;
};

/* The header block of a member.  All fields are text.  Numbers are octal. */
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
	char magic[8]; /* "ustar" and the version */
	char uname[32];
	char gname[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char padding[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is one block");

/*
 * The largest numbers that fit into fields of 8 and 12 bytes.  A larger number goes into a pax
 * record.
 */
#define OCTAL_7 ((uint64_t)07777777)
#define OCTAL_11 ((uint64_t)077777777777)

static int flush_buffer(struct tar_writer *tar, struct err *err)
{
	size_t done = 0;

	while (!tar->failed && done < tar->out.len) {
		ssize_t n = write(tar->fd, tar->out.data + done, tar->out.len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			tar->failed = errno;
	}
	if (tar->failed)
		return err_number(err, tar->failed, "write archive");
	buf_clear(&tar->out);
	return 0;
}

static int put_bytes(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	const char *from = bytes;

	while (len) {
		size_t room = TAR_IO_SIZE - tar->out.len;
		size_t part = len < room ? len : room;

		buf_add(&tar->out, from, part);
		from += part;
		len -= part;
		tar->written += part;
		if (tar->out.len == TAR_IO_SIZE) {
			int rc = flush_buffer(tar, err);
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

	return put_bytes(tar, zeros, len, err);
}

struct tar_writer *tar_writer_open(int fd, struct err *err)
{
	struct tar_writer *tar = mem_zalloc(sizeof(*tar));

	(void)err;
	tar->fd = fd;
	tar->out.max = 2 * TAR_IO_SIZE;
	return tar;
}

/*
 * Close the writer without writing the rest of the buffer.  So an incomplete archive does not look
 * complete.
 */
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
	if (name.len > TAR_PATH_LIMIT)
		return err_set(err, ERR_LIMIT, "%s has more than %zu bytes", what, TAR_PATH_LIMIT);
	return 0;
}

static int check_xattrs(const struct tar_member *member, struct err *err)
{
	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		if (!xattr->name.len || memchr(xattr->name.ptr, '\0', xattr->name.len))
			return err_set(err, ERR_INVALID, "an xattr name is empty or holds a NUL");
		if (xattr->name.len > TAR_XATTR_NAME_LIMIT)
			return err_set(err, ERR_LIMIT, "an xattr name has more than %zu bytes",
				TAR_XATTR_NAME_LIMIT);
		if (xattr->value.len > TAR_XATTR_VALUE_LIMIT)
			return err_set(err, ERR_LIMIT, "an xattr has more than %zu bytes",
				TAR_XATTR_VALUE_LIMIT);
	}
	if (member->n_xattrs > TAR_XATTR_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT, "more than %zu xattrs", TAR_XATTR_COUNT_LIMIT);
	return 0;
}

/* Check that the extents ascend, do not overlap, and stay inside the file. */
static int check_extents(const struct tar_member *member, struct err *err)
{
	uint64_t end = 0;

	if (member->size > INT64_MAX)
		return err_set(err, ERR_LIMIT, "a file of %ju bytes", (uintmax_t)member->size);
	if (member->n_extents > TAR_EXTENT_COUNT_LIMIT)
		return err_set(err, ERR_LIMIT, "a sparse file has more than %zu extents",
			TAR_EXTENT_COUNT_LIMIT);
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

/*
 * Add a pax record "LENGTH KEY=VALUE\n".  KEY is the prefix followed by the key.  LENGTH is the
 * length of the whole record, including the digits of LENGTH.
 */
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

static void add_text_record(struct buf *records, const char *key, const char *value)
{
	add_record(records, STR(""), str_of(key), str_of(value));
}

static void add_number_record(struct buf *records, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)number);
	add_text_record(records, key, text);
}

static void add_time_record(
	struct buf *records, const char *key, bool negative, uint64_t seconds, unsigned fraction)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%ju.%09u", negative ? "-" : "", (uintmax_t)seconds,
		fraction);
	add_text_record(records, key, text);
}

static void add_mtime(struct buf *records, int64_t mtime)
{
	uint64_t magnitude = mtime < 0 ? -(uint64_t)mtime : (uint64_t)mtime;
	uint64_t seconds = magnitude / TAR_NS_PER_S;
	unsigned fraction = (unsigned)(magnitude % TAR_NS_PER_S);

	if (mtime >= 0 && !fraction && seconds <= OCTAL_11)
		return;
	add_time_record(records, "mtime", mtime < 0, seconds, fraction);
	if (mtime < 0 && !seconds)
		add_time_record(records, "LIBARCHIVE.creationtime", true, 1, fraction);
}

/*
 * Add one entry of an ACL as text, such as "user:1000:rw-".  Returns false if the entry has an
 * unknown tag.
 */
static bool add_acl_entry(struct buf *text, struct tar_acl_entry entry)
{
	static const struct {
		unsigned tag;
		const char *name;
	} names[] = { { TAR_ACL_USER_OBJ, "user" }, { TAR_ACL_USER, "user" },
		{ TAR_ACL_GROUP_OBJ, "group" }, { TAR_ACL_GROUP, "group" },
		{ TAR_ACL_MASK, "mask" }, { TAR_ACL_OTHER, "other" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].tag != entry.tag)
			continue;
		buf_addf(text, "%s%s:", text->len ? "," : "", names[i].name);
		if (entry.tag == TAR_ACL_USER || entry.tag == TAR_ACL_GROUP)
			buf_addf(text, "%u", entry.id);
		buf_addf(text, ":%c%c%c", entry.perm & 4 ? 'r' : '-', entry.perm & 2 ? 'w' : '-',
			entry.perm & 1 ? 'x' : '-');
		return true;
	}
	return false;
}

/* Add an ACL as text, since tar --acls reads only text.  Our own reader prefers the xattr. */
static void add_acl(struct buf *records, const char *key, struct str value)
{
	owned(buf_release) struct buf text = { .max = TAR_HEADER_LIMIT };

	if (!tar_acl_is_whole(value))
		return;
	for (size_t i = 0; i < tar_acl_count(value); i++)
		if (!add_acl_entry(&text, tar_acl_entry(value, i)))
			return;
	add_record(records, STR(""), str_of(key), (struct str){ text.data, text.len });
}

/*
 * Add the record of an xattr.  A '=' in the name would end the key.  So '=' and '%' are written as
 * %XX, as GNU tar does.
 */
static void add_xattr(struct buf *records, const struct tar_xattr *xattr)
{
	char name[3 * TAR_XATTR_NAME_LIMIT + 1];
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

/*
 * Add records for everything that does not fit into the header.  A name that fits into the header
 * needs no record hdrcharset, since the header takes any bytes.
 */
static void add_records(struct buf *records, const struct tar_member *member, uint64_t stored)
{
	bool path = !member->sparse && member->path.len > sizeof(((struct header *)0)->name);
	bool link = member->link.len > sizeof(((struct header *)0)->link) &&
		    (member->hardlink || S_ISLNK(member->mode));

	if (((path || member->sparse) && !text_is_utf8(member->path)) ||
		(link && !text_is_utf8(member->link)))
		add_text_record(records, "hdrcharset", "BINARY");
	if (path)
		add_record(records, STR(""), STR("path"), member->path);
	if (link)
		add_record(records, STR(""), STR("linkpath"), member->link);
	if (member->uid > OCTAL_7)
		add_number_record(records, "uid", member->uid);
	if (member->gid > OCTAL_7)
		add_number_record(records, "gid", member->gid);
	if (stored > OCTAL_11)
		add_number_record(records, "size", stored);
	add_mtime(records, member->mtime);
	if (member->major > OCTAL_7)
		add_number_record(records, "SCHILY.devmajor", member->major);
	if (member->minor > OCTAL_7)
		add_number_record(records, "SCHILY.devminor", member->minor);
	for (size_t i = 0; i < member->n_xattrs; i++) {
		const struct tar_xattr *xattr = &member->xattrs[i];

		add_xattr(records, xattr);
		if (str_eq(xattr->name, TAR_ACL_ACCESS))
			add_acl(records, "SCHILY.acl.access", xattr->value);
		if (str_eq(xattr->name, TAR_ACL_DEFAULT))
			add_acl(records, "SCHILY.acl.default", xattr->value);
	}
	if (member->sparse) {
		add_text_record(records, "GNU.sparse.major", "1");
		add_text_record(records, "GNU.sparse.minor", "0");
		add_record(records, STR(""), STR("GNU.sparse.name"), member->path);
		add_number_record(records, "GNU.sparse.realsize", member->size);
	}
}

/*
 * Make the map of a sparse file.  The map is written before the data of the file.  A hole at the
 * end of the file is an empty run in the map.
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

/*
 * Fill a numeric field of 'size' bytes, including the NUL at its end.  A number that is too large
 * becomes 0 here, since a pax record has the number.
 */
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

/*
 * Write the pax header if there are records.  A program that does not know pax takes this header
 * for a file with the name PaxHeaders/member.
 */
static int put_records(struct tar_writer *tar, const struct buf *records, struct err *err)
{
	struct header header = { 0 };
	int rc;

	if (!records->len)
		return 0;
	set_common(&header, 'x', 0644, records->len);
	set_name(header.name, sizeof(header.name), STR("PaxHeaders/member"));
	set_checksum(&header);
	if ((rc = put_bytes(tar, &header, sizeof(header), err)) ||
		(rc = put_bytes(tar, records->data, records->len, err)))
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
		member->mtime < 0 ? 0 : (uint64_t)member->mtime / TAR_NS_PER_S);
	set_octal(header.major, sizeof(header.major), member->major);
	set_octal(header.minor, sizeof(header.minor), member->minor);
	set_checksum(&header);
	return put_bytes(tar, &header, sizeof(header), err);
}

/* Fail if the caller has not written all data of the previous member. */
static int check_member_done(const struct tar_writer *tar, struct err *err)
{
	if (!tar->owed)
		return 0;
	return err_set(err, ERR_INVALID, "%ju bytes of the last member's data are missing",
		(uintmax_t)tar->owed);
}

int tar_writer_member(struct tar_writer *tar, const struct tar_member *member, struct err *err)
{
	owned(buf_release) struct buf records = { .max = TAR_HEADER_LIMIT };
	owned(buf_release) struct buf map = BUF_INIT;
	struct tar_member plain = *member;
	uint64_t owed = 0;
	int rc;

	if ((rc = check_member_done(tar, err)) || (rc = check_member(member, err)))
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
			"path, link and xattrs have more than %zu bytes together",
			TAR_HEADER_LIMIT);
	if ((rc = put_records(tar, &records, err)) || (rc = put_header(tar, &plain, stored, err)) ||
		(rc = put_bytes(tar, map.data, map.len, err)))
		return rc;
	tar->owed = owed;
	tar->padding = padding_of(stored, TAR_BLOCK);
	return owed ? 0 : put_padding(tar, tar->padding, err);
}

int tar_writer_data(struct tar_writer *tar, const void *bytes, size_t len, struct err *err)
{
	if (len > tar->owed)
		return err_set(err, ERR_INVALID, "more data than the member's size");
	int rc = put_bytes(tar, bytes, len, err);
	if (rc || !len)
		return rc;
	tar->owed -= len;
	return tar->owed ? 0 : put_padding(tar, tar->padding, err);
}

int tar_writer_finish(struct tar_writer *tar, struct err *err)
{
	int rc;

	if ((rc = check_member_done(tar, err)) || (rc = put_padding(tar, 2 * TAR_BLOCK, err)) ||
		(rc = put_padding(tar, padding_of(tar->written, TAR_RECORD), err)))
		return rc;
	return flush_buffer(tar, err);
}

void tar_writer_closep(struct tar_writer **tar)
{
	tar_writer_close(*tar);
}
