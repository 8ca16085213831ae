/*
 * xattrs - the extended attributes of one file as one object.
 *
 * The object has the attributes that this user may read: user.*, trusted.*, security.* (which
 * includes file capabilities) and POSIX ACLs (system.posix_acl_*).
 *
 *	version   1 byte   1
 *	count     varint
 *	each      name (length, bytes), value (length, bytes); names ascending
 */
#pragma once
#include "core/bytes.h"
#include "core/err.h"
#include "store/store.h"

#define XATTRS_MAX 1024 /* maximum number of attributes of one file */
#define XATTRS_BYTES_MAX ((size_t)4 << 20)
#define XATTRS_NAME_MAX 255

struct xattr {
	struct str name, value;
};

/*
 * strata's name for the mark by which overlayfs makes a directory opaque.  No file can have an
 * attribute with this name.
 */
#define XATTRS_OPAQUE "strata.opaque"
/* Name and value of the opaque mark on a directory in a layer. */
#define XATTRS_OPAQUE_MARK "user.overlay.opaque"
#define XATTRS_OPAQUE_VALUE "y"

/*
 * Encode the attributes of dirfd/name into *out.  If there are none, *out stays empty.  Returns the
 * number of attributes or -errno.
 *
 * If 'upper' is true, the file is in a layer of an overlay.  The marks of overlayfs are left out,
 * except the opaque mark, which becomes XATTRS_OPAQUE.  Names that had to be escaped in the layer
 * are unescaped.
 */
int xattrs_read(int dirfd, const char *name, bool upper, struct buf *out);
/*
 * Returns the name that the attribute attr must have on a file in a layer of an overlay.  This is
 * attr itself, or an escaped name, which is written to 'escaped'.
 */
const char *xattrs_escape(const char *attr, char escaped[XATTRS_NAME_MAX + 1]);

/* Whether overlayfs itself uses the attribute attr of a file in a layer. */
bool xattrs_is_mark(const char *attr);

/* Append the encoded list to *out.  The list is sorted in place.  An empty list adds nothing. */
void xattrs_encode(struct xattr *list, size_t count, struct buf *out);

/* Decodes attributes one by one. */
struct xattrs_reader {
	struct cursor in;
	uint64_t left;
	struct str before;
};
int xattrs_open(struct xattrs_reader *reader, const void *bytes, size_t len, struct err *err);
/* Read the next attribute.  Returns 1, or 0 after the last one, or a negative error. */
int xattrs_next(struct xattrs_reader *reader, struct xattr *xattr, struct err *err);
