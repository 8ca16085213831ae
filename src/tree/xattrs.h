/*
 * xattrs - the extended attributes of one file as one object.
 *
 * These are user.*, trusted.* and security.* as far as we may read them, including POSIX ACLs
 * (system.posix_acl_*) and file capabilities.
 *
 *	version   1 byte   1
 *	count     varint
 *	each      name (length, bytes), value (length, bytes); names ascending
 */
#pragma once
#include "core/bytes.h"
#include "core/err.h"
#include "store/store.h"

#define XATTRS_MAX 1024 /* attributes of one file */
#define XATTRS_BYTES_MAX ((size_t)4 << 20)
#define XATTRS_NAME_MAX 255

struct xattr {
	struct str name, value;
};

/* Our name for the opaque mark of overlayfs on a directory; no file can have it. */
#define XATTRS_OPAQUE "strata.opaque"
/* The mark itself, as it is on the directory of a layer, and its value. */
#define XATTRS_OPAQUE_MARK "user.overlay.opaque"
#define XATTRS_OPAQUE_VALUE "y"

/*
 * Encode the attributes of dirfd/name into out, which stays empty when there are none.  Returns
 * their number or -errno.
 *
 * upper: the file is in a layer of an overlay.  The marks that overlayfs keeps there are left out,
 * except for XATTRS_OPAQUE.  Names that had to be escaped are unescaped.
 */
int xattrs_read(int dirfd, const char *name, bool upper, struct buf *out);
/* The name of attr in a layer of an overlay; mostly attr itself. */
const char *xattrs_escape(const char *attr, char escaped[XATTRS_NAME_MAX + 1]);

/* Whether overlayfs uses this attribute of a file in a layer for itself. */
bool xattrs_is_mark(const char *attr);

/* Encode a list, which is sorted in place. */
void xattrs_encode(struct xattr *list, size_t count, struct buf *out);

/* Decode step by step. */
struct xattrs_reader {
	struct cursor in;
	uint64_t left;
	struct str before;
};
int xattrs_open(struct xattrs_reader *reader, const void *bytes, size_t len, struct err *err);
int xattrs_next(struct xattrs_reader *reader, struct xattr *xattr, struct err *err); /* 1/0/neg */
