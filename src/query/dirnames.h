/*
 * dirnames - the names in a directory, sorted, with what the directory's records say about them.
 *
 * A struct of zeros with records = BUF_INIT has no names.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

struct dirnames {
	struct buf records;
	struct dirname {
		uint64_t order; /* the first eight bytes, which decide most comparisons */
		const char *text;
	} * list;
	size_t n;
};

/*
 * Read the names in an open directory, except "." and "..".  'path' is for messages.  If there are
 * too many names, the result is ERR_LIMIT.
 */
int dirnames_read(struct dirnames *names, int dir, const char *path, struct err *err);
void dirnames_release(struct dirnames *names);
/*
 * dirnames_type returns the type that the directory's record has for a name, such as DT_REG.
 * dirnames_inode returns the inode number in the record.  'name' must be the text of an element of
 * the list.
 */
unsigned char dirnames_type(const char *name);
uint64_t dirnames_inode(const char *name);
