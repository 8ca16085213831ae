/*
 * object - immutable bytes.  The store finds an object by its SHA-256 and its type.
 *
 * The hash is the plain SHA-256 of the raw bytes.  Because the type is part of the key, a file with
 * the same bytes as a tree is a different object.
 */
#pragma once
#include "core/hash.h"

enum object_type {
	OBJECT_BLOB = 1, /* content of a file, or a chunk of it */
	OBJECT_TREE,     /* node of a directory; see tree/treenode.h */
	OBJECT_CHUNKS,   /* chunk list of a large or sparse file; see tree/content.h */
	OBJECT_XATTRS,   /* extended attributes of a file; see tree/xattrs.h */
	OBJECT_TYPE_END,
};

/* maximum number of raw bytes of an object; blobs are far smaller */
#define OBJECT_MAX ((size_t)16 << 20)

struct object_key {
	struct hash hash;
	enum object_type type;
};

const char *object_type_name(enum object_type type);
