#include "parquet/thrift.h"

#include <assert.h>

#define SHORT_DELTA_MAX 15
#define SHORT_LIST_MAX 14
#define LONG_LIST 0xf0

/* --- writing --- */

struct thrift_out thrift_out_to(struct buf *out)
{
	return (struct thrift_out){ .out = out };
}

static void put_field(struct thrift_out *out, int id, enum thrift_type type)
{
	int delta = id - out->last[out->depth];

	if (id == THRIFT_ITEM)
		return;
	if (delta >= 1 && delta <= SHORT_DELTA_MAX) {
		buf_addc(out->out, (char)(delta << 4 | (int)type));
	} else {
		buf_addc(out->out, (char)type);
		bytes_svarint(out->out, id);
	}
	out->last[out->depth] = id;
}

void thrift_put_int(struct thrift_out *out, int id, enum thrift_type type, int64_t value)
{
	put_field(out, id, type);
	bytes_svarint(out->out, value);
}

void thrift_put_bool(struct thrift_out *out, int id, bool value)
{
	put_field(out, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_bytes(struct thrift_out *out, int id, struct str bytes)
{
	put_field(out, id, THRIFT_BYTES);
	bytes_str(out->out, bytes);
}

void thrift_put_list(struct thrift_out *out, int id, enum thrift_type type, uint32_t count)
{
	put_field(out, id, THRIFT_LIST);
	if (count <= SHORT_LIST_MAX) {
		buf_addc(out->out, (char)(count << 4 | type));
		return;
	}
	buf_addc(out->out, (char)(LONG_LIST | type));
	bytes_varint(out->out, count);
}

void thrift_put_struct(struct thrift_out *out, int id)
{
	put_field(out, id, THRIFT_STRUCT);
	assert(out->depth + 1 < THRIFT_DEPTH);
	out->last[++out->depth] = 0;
}

void thrift_put_end(struct thrift_out *out)
{
	buf_addc(out->out, THRIFT_STOP);
	if (out->depth)
		out->depth--;
}

/* --- reading --- */

struct thrift_in thrift_in_of(const void *bytes, size_t len)
{
	return (struct thrift_in){ .in = cursor_of(bytes, len) };
}

static bool mark_bad(struct thrift_in *in)
{
	in->in.bad = true;
	return false;
}

static bool go_deeper(struct thrift_in *in)
{
	if (in->in.bad || in->depth + 1 == THRIFT_DEPTH)
		return mark_bad(in);
	in->last[++in->depth] = 0;
	return true;
}

bool thrift_next(struct thrift_in *in, struct thrift_field *field)
{
	uint8_t first = in->in.bad ? 0 : cursor_byte(&in->in);

	if (in->in.bad)
		return false;
	if (first == THRIFT_STOP) {
		if (in->depth)
			in->depth--;
		return false;
	}
	int64_t id = first >> 4 ? in->last[in->depth] + (first >> 4) : cursor_svarint(&in->in);
	first &= 0x0f;
	if (in->in.bad || id <= 0 || id > INT16_MAX || first == THRIFT_STOP ||
		first > THRIFT_STRUCT)
		return mark_bad(in);
	in->last[in->depth] = (int)id;
	*field = (struct thrift_field){ (int)id, first };
	return true;
}

int64_t thrift_get_int(struct thrift_in *in, const struct thrift_field *field)
{
	if (field->type != THRIFT_I16 && field->type != THRIFT_I32 && field->type != THRIFT_I64)
		return mark_bad(in);
	return cursor_svarint(&in->in);
}

struct str thrift_get_bytes(struct thrift_in *in, const struct thrift_field *field)
{
	if (field->type != THRIFT_BYTES)
		(void)mark_bad(in);
	return in->in.bad ? STR("") : cursor_str(&in->in);
}

size_t thrift_get_list(
	struct thrift_in *in, const struct thrift_field *field, struct thrift_field *item)
{
	*item = (struct thrift_field){ THRIFT_ITEM, THRIFT_STOP };
	if (field->type != THRIFT_LIST && field->type != THRIFT_SET)
		return mark_bad(in);
	uint8_t first = cursor_byte(&in->in);
	uint64_t count = first >> 4;
	if (count > SHORT_LIST_MAX)
		count = cursor_varint(&in->in);
	item->type = first & 0x0f;
	/*
	 * The number of items cannot exceed the number of remaining bytes, since every item has at
	 * least one byte.
	 */
	if (in->in.bad || count > cursor_left(&in->in))
		return mark_bad(in);
	return (size_t)count;
}

void thrift_get_struct(struct thrift_in *in, const struct thrift_field *field)
{
	if (field->type != THRIFT_STRUCT)
		(void)mark_bad(in);
	else
		(void)go_deeper(in);
}

static void skip_list(struct thrift_in *in, const struct thrift_field *field)
{
	struct thrift_field item;
	size_t count = thrift_get_list(in, field, &item);

	if (!go_deeper(in))
		return;
	while (count-- && !in->in.bad)
		thrift_skip(in, &item);
	in->depth--;
}

static void skip_map(struct thrift_in *in)
{
	uint64_t count = cursor_varint(&in->in);
	uint8_t types = count ? cursor_byte(&in->in) : 0;
	struct thrift_field key = { THRIFT_ITEM, types >> 4 };
	struct thrift_field value = { THRIFT_ITEM, types & 0x0f };

	if (count > cursor_left(&in->in))
		(void)mark_bad(in);
	if (!go_deeper(in))
		return;
	while (count-- && !in->in.bad) {
		thrift_skip(in, &key);
		thrift_skip(in, &value);
	}
	in->depth--;
}

static void skip_struct(struct thrift_in *in, const struct thrift_field *field)
{
	struct thrift_field inner;

	thrift_get_struct(in, field);
	while (thrift_next(in, &inner))
		thrift_skip(in, &inner);
}

void thrift_skip(struct thrift_in *in, const struct thrift_field *field)
{
	switch (field->type) {
	case THRIFT_TRUE:
	case THRIFT_FALSE:
		if (field->id == THRIFT_ITEM)
			(void)cursor_byte(&in->in);
		break;
	case THRIFT_BYTE:
		(void)cursor_byte(&in->in);
		break;
	case THRIFT_I16:
	case THRIFT_I32:
	case THRIFT_I64:
		(void)cursor_varint(&in->in);
		break;
	case THRIFT_DOUBLE:
		(void)cursor_bytes(&in->in, 8);
		break;
	case THRIFT_BYTES:
		(void)cursor_str(&in->in);
		break;
	case THRIFT_LIST:
	case THRIFT_SET:
		skip_list(in, field);
		break;
	case THRIFT_MAP:
		skip_map(in);
		break;
	case THRIFT_STRUCT:
		skip_struct(in, field);
		break;
	default:
		(void)mark_bad(in);
	}
}
