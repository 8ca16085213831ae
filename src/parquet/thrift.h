/*
 * thrift - the compact protocol of Apache Thrift.  Only the part that Parquet's metadata needs is
 * implemented.
 *
 *	struct     fields, then a zero byte
 *	field      if its id minus the id of the previous field is 1..15: one byte,
 *	           difference << 4 | type, then the value;
 *	           otherwise: type, id as an integer, then the value
 *	boolean    in a field: no value, since the type is 'true' or 'false';
 *	           in a list: one byte
 *	integer    zigzag varint, for every width
 *	bytes      length as a varint, bytes
 *	list       length 0..14: one byte, length << 4 | type of the items, then the items;
 *	           otherwise: 0xf0 | type, length as a varint, then the items
 *	map        length as a varint; unless it is 0: one byte, type of the keys << 4 |
 *	           type of the values, then the pairs
 *
 * The functions for writing write to a struct buf, which remembers an overflow.  The functions for
 * reading use a cursor, which remembers an error, so the caller checks in.bad only at the end.  The
 * functions for reading refuse structs that are nested deeper than THRIFT_DEPTH, and lists with
 * more items than the number of remaining bytes.
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
 * Items of a list have no id.  The functions below take or return this number in place of the id
 * for an item of the list that was begun last.  No field has this id, since ids begin at 1 in
 * Parquet.
 */
#define THRIFT_ITEM 0

/* --- writing --- */

struct thrift_out {
	struct buf *out;
	unsigned depth;
	/*
	 * for each open struct, beginning with the outermost: the id of the field that was written
	 * last
	 */
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
 * Get the next field of the current struct.  The caller must then read its value with one of the
 * functions below.  Returns false on an error, and at the end of the struct.  After that end, the
 * enclosing struct is the current one.
 */
bool thrift_next(struct thrift_in *in, struct thrift_field *field);
int64_t thrift_get_int(struct thrift_in *in, const struct thrift_field *field);
struct str thrift_get_bytes(struct thrift_in *in, const struct thrift_field *field);
/*
 * Begin a list, and return the number of its items.  To read an item, call the function for its
 * type, with 'item' as the field.
 */
size_t thrift_get_list(
	struct thrift_in *in, const struct thrift_field *field, struct thrift_field *item);
/* Make the struct in a field the current struct. */
void thrift_get_struct(struct thrift_in *in, const struct thrift_field *field);
/* Skip the value of a field. */
void thrift_skip(struct thrift_in *in, const struct thrift_field *field);
