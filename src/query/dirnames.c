#include "query/dirnames.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/mem.h"

#define RECORDS_SIZE 32768 /* bytes of records that are read at a time */
#define RECORD_MIN 24      /* bytes of the shortest record; all lengths are multiples of eight */

_Static_assert(offsetof(struct dirent64, d_name) == offsetof(struct dirent64, d_type) + 1,
	"the type comes right before the name");

unsigned char dirnames_type(const char *name)
{
	return (unsigned char)name[-1];
}

uint64_t dirnames_inode(const char *name)
{
	uint64_t inode;

	memcpy(&inode, name - offsetof(struct dirent64, d_name) + offsetof(struct dirent64, d_ino),
		sizeof(inode));
	return inode;
}

void dirnames_release(struct dirnames *names)
{
	buf_release(&names->records);
	free(names->list);
}

/*
 * Returns the first eight bytes of a name as a number.  Of two sorted names, the second gives a
 * larger number than the first, or the same number.
 */
static uint64_t order_of(const char *name)
{
	uint64_t order = 0;

	for (unsigned shift = 64; shift && *name; name++)
		order |= (uint64_t)(unsigned char)*name << (shift -= 8);
	return order;
}

static int compare_names(const void *a, const void *b)
{
	const struct dirname *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return strcmp(x->text, y->text);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void sort_names(struct dirnames *names)
{
	const char *record = names->records.data, *end = record + names->records.len;
	uint16_t len;

	names->list = mem_alloc((names->records.len / RECORD_MIN + 1) * sizeof(*names->list));
	for (; record < end; record += len) {
		const char *text = record + offsetof(struct dirent64, d_name);

		memcpy(&len, record + offsetof(struct dirent64, d_reclen), sizeof(len));
		if (!is_dots(text))
			names->list[names->n++] = (struct dirname){ order_of(text), text };
	}
	qsort(names->list, names->n, sizeof(*names->list), compare_names);
}

int dirnames_read(struct dirnames *names, int dir, const char *path, struct err *err)
{
	_Alignas(struct dirent64) char records[RECORDS_SIZE];
	ssize_t n;

	while ((n = at_list_read(dir, records, sizeof(records))) > 0)
		buf_add(&names->records, records, (size_t)n);
	if (n < 0)
		return err_number(err, (int)-n, "list '%.200s'", path);
	if (names->records.overflowed)
		return err_set(err, ERR_LIMIT, "the directory '%.200s' has too many names", path);
	sort_names(names);
	return 0;
}
