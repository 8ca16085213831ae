/*
 * thrift - the compact protocol of Apache Thrift, as far as Parquet's metadata needs it.
 *
 *	struct     fields, then a zero byte
 *	field      one byte, id minus the last field's id (1..15) << 4 | type, and the
 *	           value; for any other difference: type, id as an integer, value
 *	boolean    in a field: no value, the type says it; in a list: one byte
 *	integer    zigzag varint, whatever its width
 *	bytes      length as a varint, bytes
 *	list       one byte, length (0..14) << 4 | type of the items, and the items; or
 *	           0xf0 | type, length as a varint, items
 *	map        length as a varint; unless it is 0: type of keys << 4 | of values, pairs
 *
 * The functions for writing write to a struct buf, which remembers an overflow.  The functions for
 * reading use a cursor, which remembers an error, so the caller checks in.bad only at the end.
 * They refuse structs that are nested deeper than THRIFT_DEPTH, and lists with more items than
 * there are bytes left.
 */
#pragma once
#include "core/bytes.h"

#define THRIFT_DEPTH 16

enum thrift_type {
	THRIFT_STOP = 0,
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_BYTE = 3,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_DOUBLE = 7,
	THRIFT_BYTES = 8,
	THRIFT_LIST = 9,
	THRIFT_SET = 10,
	THRIFT_MAP = 11,
	THRIFT_STRUCT = 12,
};

/*
 * The id that stands for an item of the list that was begun last.  Ids of fields begin at 1 in
 * Parquet.
 */
#define THRIFT_ITEM 0

/* --- writing --- */

struct thrift_out {
	struct buf *out;
	unsigned depth;
	/* ids of the last written field of each open struct, the outermost first */
	int last[THRIFT_DEPTH];
};

/* Begin the outermost struct.  It is ended with thrift_put_end, like any other struct. */
struct thrift_out thrift_out_to(struct buf *out);
void thrift_put_int(struct thrift_out *out, int id, enum thrift_type type, int64_t value);
/* must not be used for items of a list */
void thrift_put_bool(struct thrift_out *out, int id, bool value);
void thrift_put_bytes(struct thrift_out *out, int id, struct str bytes);
void thrift_put_list(struct thrift_out *out, int id, enum thrift_type type, uint32_t count);
void thrift_put_struct(struct thrift_out *out, int id);
void thrift_put_end(struct thrift_out *out);

/* --- reading --- */

struct thrift_in {
	struct cursor in;
	unsigned depth;
	int last[THRIFT_DEPTH];
};

struct thrift_field {
	int id; /* THRIFT_ITEM if this is an item of a list */
	enum thrift_type type;
};

/* Begin to read the fields of the outermost struct. */
struct thrift_in thrift_in_of(const void *bytes, size_t len);
/*
 * Get the next field of the current struct.  One of the functions below must then read its value.
 * Returns false on an error, and at the end of the struct.  At that end, the enclosing struct
 * becomes the current one.
 */
bool thrift_next(struct thrift_in *in, struct thrift_field *field);
int64_t thrift_get_int(struct thrift_in *in, const struct thrift_field *field);
struct str thrift_get_bytes(struct thrift_in *in, const struct thrift_field *field);
/*
 * Begin a list, and return the number of its items.  Each item is then read like a field, with
 * *item as the field.
 */
size_t thrift_get_list(
	struct thrift_in *in, const struct thrift_field *field, struct thrift_field *item);
/* Make the struct in a field the current one. */
void thrift_get_struct(struct thrift_in *in, const struct thrift_field *field);
/* Skip the value of a field. */
void thrift_skip(struct thrift_in *in, const struct thrift_field *field);
