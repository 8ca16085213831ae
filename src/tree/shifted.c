#include "tree/shifted.h"

#include <endian.h>
#include <linux/capability.h>

#include "tree/tar_acl.h"

#define CAPABILITY "security.capability"

static void shift_acl(struct buf *room, uint32_t first)
{
	struct str value = { room->data, room->len };

	for (size_t i = 0; value.len >= TAR_ACL_HEADER && i < tar_acl_count(value); i++) {
		struct tar_acl_entry entry = tar_acl_entry(value, i);

		if (entry.tag == TAR_ACL_USER || entry.tag == TAR_ACL_GROUP)
			tar_acl_set_id(room->data, i, entry.id + first);
	}
}

/*
 * Convert file capabilities that are valid for root of the machine.  The result is valid for root
 * of the sandbox, and contains the id of that root.
 */
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
		(!capability && !str_eq(name, TAR_ACL_ACCESS) && !str_eq(name, TAR_ACL_DEFAULT)))
		return value;
	room->len = 0;
	buf_add(room, value.ptr, value.len);
	if (capability)
		shift_capability(room, first);
	else
		shift_acl(room, first);
	return (struct str){ room->data, room->len };
}
