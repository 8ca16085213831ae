#include "tree/entry.h"

#define TYPE_BITS 0x0f
#define HAS_XATTRS 0x10
#define HAS_LINK 0x20
#define NSEC_END 1000000000

bool entry_name_ok(struct str name)
{
	if (!name.len || name.len > ENTRY_NAME_MAX || memchr(name.ptr, '/', name.len) ||
		memchr(name.ptr, '\0', name.len))
		return false;
	return !str_eq(name, STR(".")) && !str_eq(name, STR(".."));
}

static bool has_hash(const struct entry *entry)
{
	return entry->content == ENTRY_BLOB || entry->content == ENTRY_CHUNKS ||
	       entry->content == ENTRY_TREE;
}

void entry_encode(const struct entry *entry, struct buf *out)
{
	uint8_t kind = (uint8_t)entry->type;

	if (!hash_is_none(&entry->xattrs))
		kind |= HAS_XATTRS;
	if (entry->link)
		kind |= HAS_LINK;
	bytes_str(out, entry->name);
	buf_addc(out, (char)kind);
	bytes_varint(out, entry->mode);
	bytes_varint(out, entry->uid);
	bytes_varint(out, entry->gid);
	bytes_svarint(out, entry->mtime_sec);
	bytes_varint(out, entry->mtime_nsec);
	switch (entry->type) {
	case ENTRY_FILE:
	case ENTRY_DIR:
		buf_addc(out, (char)entry->content);
		if (entry->type == ENTRY_DIR)
			bytes_varint(out, entry->count);
		bytes_varint(out, entry->size);
		if (has_hash(entry))
			bytes_hash(out, &entry->hash);
		break;
	case ENTRY_LINK:
		bytes_str(out, entry->target);
		break;
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		bytes_varint(out, entry->major);
		bytes_varint(out, entry->minor);
		break;
	default:
		break;
	}
	if (kind & HAS_XATTRS)
		bytes_hash(out, &entry->xattrs);
	if (kind & HAS_LINK) {
		uint8_t link[8];

		bytes_put64(link, entry->link);
		buf_add(out, link, sizeof(link));
	}
}

static uint32_t cursor_u32(struct cursor *in)
{
	uint64_t v = cursor_varint(in);

	if (v > UINT32_MAX)
		in->bad = true;
	return (uint32_t)v;
}

static bool content_ok(const struct entry *entry)
{
	switch (entry->content) {
	case ENTRY_EMPTY:
		return entry->size == 0 && entry->count == 0;
	case ENTRY_BLOB:
		return entry->type == ENTRY_FILE && entry->size > 0;
	case ENTRY_CHUNKS:
		return entry->type == ENTRY_FILE && entry->size > 0;
	case ENTRY_TREE:
		return entry->type == ENTRY_DIR && entry->count > 0;
	case ENTRY_UNREAD:
		return true;
	}
	return false;
}

static void decode_body(struct cursor *in, struct entry *entry)
{
	switch (entry->type) {
	case ENTRY_FILE:
	case ENTRY_DIR:
		entry->content = cursor_byte(in);
		if (entry->type == ENTRY_DIR)
			entry->count = cursor_varint(in);
		entry->size = cursor_varint(in);
		if (!content_ok(entry))
			in->bad = true;
		else if (has_hash(entry))
			cursor_hash(in, &entry->hash);
		break;
	case ENTRY_LINK:
		entry->target = cursor_str(in);
		entry->size = entry->target.len;
		if (!entry->target.len || entry->target.len > ENTRY_TARGET_MAX ||
			memchr(entry->target.ptr, '\0', entry->target.len))
			in->bad = true;
		break;
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		entry->major = cursor_u32(in);
		entry->minor = cursor_u32(in);
		break;
	default:
		break;
	}
}

int entry_decode(struct cursor *in, struct entry *entry, struct err *err)
{
	struct entry out = { .name = cursor_str(in) };
	uint8_t kind = cursor_byte(in);

	out.type = kind & TYPE_BITS;
	if ((kind & ~(TYPE_BITS | HAS_XATTRS | HAS_LINK)) || !out.type ||
		out.type >= ENTRY_TYPE_END)
		in->bad = true;
	out.mode = cursor_u32(in);
	out.uid = cursor_u32(in);
	out.gid = cursor_u32(in);
	out.mtime_sec = cursor_svarint(in);
	out.mtime_nsec = cursor_u32(in);
	decode_body(in, &out);
	if (kind & HAS_XATTRS) {
		cursor_hash(in, &out.xattrs);
		if (hash_is_none(&out.xattrs))
			in->bad = true;
	}
	if (kind & HAS_LINK) {
		struct str link = cursor_bytes(in, 8);

		if (!in->bad)
			out.link = bytes_get64(link.ptr);
		if (!out.link)
			in->bad = true;
	}
	if (in->bad || out.mode > 07777 || out.mtime_nsec >= NSEC_END)
		return err_set(err, ERR_CORRUPT, "malformed tree entry");
	*entry = out;
	return 0;
}

bool entry_same_content(const struct entry *a, const struct entry *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case ENTRY_FILE:
		return a->content == b->content && a->size == b->size &&
		       hash_eq(&a->hash, &b->hash);
	case ENTRY_DIR:
		return a->content == b->content && hash_eq(&a->hash, &b->hash);
	case ENTRY_LINK:
		return str_eq(a->target, b->target);
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		return a->major == b->major && a->minor == b->minor;
	default:
		return true;
	}
}

bool entry_same(const struct entry *a, const struct entry *b)
{
	return str_eq(a->name, b->name) && entry_same_content(a, b) && a->mode == b->mode &&
	       a->uid == b->uid && a->gid == b->gid && a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec && a->link == b->link &&
	       hash_eq(&a->xattrs, &b->xattrs);
}

enum entry_type entry_type_of(uint32_t st_mode)
{
	switch (st_mode & S_IFMT) {
	case S_IFDIR:
		return ENTRY_DIR;
	case S_IFLNK:
		return ENTRY_LINK;
	case S_IFIFO:
		return ENTRY_FIFO;
	case S_IFSOCK:
		return ENTRY_SOCKET;
	case S_IFCHR:
		return ENTRY_CHAR;
	case S_IFBLK:
		return ENTRY_BLOCK;
	default:
		return ENTRY_FILE;
	}
}

uint32_t entry_type_mode(enum entry_type type)
{
	static const uint32_t modes[ENTRY_TYPE_END] = {
		[ENTRY_FILE] = S_IFREG,
		[ENTRY_DIR] = S_IFDIR,
		[ENTRY_LINK] = S_IFLNK,
		[ENTRY_FIFO] = S_IFIFO,
		[ENTRY_SOCKET] = S_IFSOCK,
		[ENTRY_CHAR] = S_IFCHR,
		[ENTRY_BLOCK] = S_IFBLK,
	};

	return modes[type];
}

const char *entry_type_name(enum entry_type type)
{
	static const char *const names[ENTRY_TYPE_END] = {
		[ENTRY_FILE] = "file",
		[ENTRY_DIR] = "dir",
		[ENTRY_LINK] = "symlink",
		[ENTRY_FIFO] = "fifo",
		[ENTRY_SOCKET] = "socket",
		[ENTRY_CHAR] = "char",
		[ENTRY_BLOCK] = "block",
	};

	return names[type];
}

uint64_t entry_path_hash(uint64_t parent, struct str name)
{
	uint64_t hash = (parent ^ '/') * UINT64_C(0x100000001b3);

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (uint8_t)name.ptr[i]) * UINT64_C(0x100000001b3);
	/*
	 * Mix the bits of the hash.  The low bits of FNV are weak, but the sums of link groups need
	 * all bits.
	 */
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}
