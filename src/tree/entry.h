/*
 * entry - one name in a directory, with everything we know about it.
 *
 * The encoding, with varints as LEB128 and signed varints as zigzag:
 *
 *	name       length, bytes       empty only for the root of a tree
 *	kind       1 byte              bits 0-3 type, 0x10 has xattrs, 0x20 has link group
 *	mode       varint              12 permission bits
 *	uid, gid   varint each
 *	mtime      svarint seconds, varint nanoseconds
 *	by type    file:   content 1 byte, size varint, hash when BLOB or CHUNKS
 *	           dir:    content 1 byte (EMPTY, TREE or UNREAD), count varint,
 *	                   size varint, hash when TREE
 *	           link:   target length, bytes
 *	           device: major varint, minor varint
 *	xattrs     hash of an XATTRS object, when the bit is set
 *	link       8 bytes little-endian, when the bit is set
 *
 * Every entry has exactly one encoding, so equal directories have equal hashes.
 *
 * The link group of a hard-linked file is a number: the sum of entry_path_hash over all names of
 * the file in the tree.  So the number depends only on the tree, and not on where the tree is read.
 * When a name is added or removed, the number changes in the entries of all names, so a diff shows
 * all of them.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/bytes.h"
#include "core/err.h"

#define ENTRY_NAME_MAX 255
#define ENTRY_TARGET_MAX 4095

enum entry_type {
	ENTRY_FILE = 1,
	ENTRY_DIR,
	ENTRY_LINK,
	ENTRY_FIFO,
	ENTRY_SOCKET,
	ENTRY_CHAR,
	ENTRY_BLOCK,
	ENTRY_TYPE_END,
};

enum entry_content {
	ENTRY_EMPTY,  /* a file without bytes, or a directory without entries */
	ENTRY_BLOB,   /* 'hash' is the name of a blob, which is the content */
	ENTRY_CHUNKS, /* 'hash' is the name of a chunk list */
	ENTRY_TREE,   /* 'hash' is the name of the directory's top node */
	ENTRY_UNREAD, /* the content is unknown, since it could not be read during the capture */
};

struct entry {
	struct str name;
	enum entry_type type;
	enum entry_content content;
	uint32_t mode; /* the 12 permission bits */
	uint32_t uid, gid;
	int64_t mtime_sec;
	uint32_t mtime_nsec;
	uint64_t size;  /* file: bytes; directory: sum of the sizes of the files below */
	uint64_t count; /* directory: entries below, at any depth */
	struct hash hash;
	struct str target;
	uint32_t major, minor;
	struct hash xattrs; /* hash of an XATTRS object; none: no attributes */
	uint64_t link;      /* number of the link group; 0: not hard-linked */
	bool brief;         /* only in a listing of a view: see VIEW_BRIEF (query/provider.h) */
};

void entry_encode(const struct entry *entry, struct buf *out);
/*
 * Decode an entry.  Its strings point into the encoded bytes.  Returns ERR_CORRUPT if the bytes are
 * not exactly what entry_encode writes.
 */
int entry_decode(struct cursor *in, struct entry *entry, struct err *err);

/* Whether a and b are the same in every respect, including the name. */
bool entry_same(const struct entry *a, const struct entry *b);
/* Whether a and b have the same type, and the same bytes, link target, device or subtree. */
bool entry_same_content(const struct entry *a, const struct entry *b);

enum entry_type entry_type_of(uint32_t st_mode);
uint32_t entry_type_mode(enum entry_type type);    /* for example S_IFREG */
const char *entry_type_name(enum entry_type type); /* file dir symlink fifo socket char block */

/*
 * Returns the hash of the path of the entry called 'name'.  'parent' is the hash of the path of its
 * directory.  The hash of the root's path is ENTRY_PATH_ROOT.  Link groups are sums of these
 * hashes.
 */
#define ENTRY_PATH_ROOT UINT64_C(0xcbf29ce484222325)
uint64_t entry_path_hash(uint64_t parent, struct str name);

/* Whether an entry can have this name: 1..255 bytes, no '/' or NUL, not "." or "..". */
bool entry_name_ok(struct str name);
