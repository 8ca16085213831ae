/*
 * object - immutable bytes that the store keeps, named by their SHA-256.
 *
 * The name is the plain SHA-256 of the raw bytes.  The type is part of the key, so a file whose
 * bytes happen to look like a tree is a different object.
 */
#pragma once
#include "core/hash.h"

enum object_type {
	OBJECT_BLOB = 1, /* file content, or one chunk of it */
	OBJECT_TREE,     /* node of a directory: tree/treenode.h */
	OBJECT_CHUNKS,   /* chunk list of a large or sparse file: tree/content.h */
	OBJECT_XATTRS,   /* extended attributes: tree/xattrs.h */
	OBJECT_TYPE_END,
};

#define OBJECT_MAX ((size_t)16 << 20) /* raw bytes of an object; blobs are far smaller */

struct object_key {
	struct hash hash;
	enum object_type type;
};

const char *object_type_name(enum object_type type);
