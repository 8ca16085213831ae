#include "store/object.h"

const char *object_type_name(enum object_type type)
{
	static const char *const names[OBJECT_TYPE_END] = {
		[OBJECT_BLOB] = "blob",
		[OBJECT_TREE] = "tree",
		[OBJECT_CHUNKS] = "chunks",
		[OBJECT_XATTRS] = "xattrs",
	};

	return type > 0 && type < OBJECT_TYPE_END ? names[type] : "unknown";
}
