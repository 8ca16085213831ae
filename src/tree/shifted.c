#include "tree/shifted.h"

#include <endian.h>
#include <linux/capability.h>
#include <string.h>

#define CAPABILITY "security.capability"
#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define ACL_USER 0x02
#define ACL_GROUP 0x08

/* As in linux/posix_acl_xattr.h; little-endian. */
struct acl_entry {
	uint16_t tag, perm;
	uint32_t id;
};

#define ACL_HEADER sizeof(uint32_t)

static void shift_acl(struct buf *room, uint32_t first)
{
	for (size_t at = ACL_HEADER; at + sizeof(struct acl_entry) <= room->len;
		at += sizeof(struct acl_entry)) {
		struct acl_entry entry;

		memcpy(&entry, room->data + at, sizeof(entry));
		if (le16toh(entry.tag) != ACL_USER && le16toh(entry.tag) != ACL_GROUP)
			continue;
		entry.id = htole32(le32toh(entry.id) + first);
		memcpy(room->data + at, &entry, sizeof(entry));
	}
}

/* Capabilities for the machine's root become those for the inner root, with its id. */
static void shift_capability(struct buf *room, uint32_t first)
{
	struct vfs_ns_cap_data data = { 0 };

	if (room->len != XATTR_CAPS_SZ_2 && room->len != XATTR_CAPS_SZ_3)
		return;
	memcpy(&data, room->data, room->len);
	uint32_t magic = le32toh(data.magic_etc);
	data.magic_etc = htole32((magic & ~VFS_CAP_REVISION_MASK) | VFS_CAP_REVISION_3);
	data.rootid = htole32(le32toh(data.rootid) + first);
	room->len = 0;
	buf_add(room, &data, XATTR_CAPS_SZ_3);
}

struct str shifted_value(struct str name, struct str value, uint32_t first, struct buf *room)
{
	bool capability = str_eq(name, STR(CAPABILITY));

	if (!first ||
		(!capability && !str_eq(name, STR(ACL_ACCESS)) && !str_eq(name, STR(ACL_DEFAULT))))
		return value;
	room->len = 0;
	buf_add(room, value.ptr, value.len);
	if (capability)
		shift_capability(room, first);
	else
		shift_acl(room, first);
	return (struct str){ room->data, room->len };
}
