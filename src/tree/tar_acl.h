/*
 * tar_acl - POSIX ACLs in the kernel's xattr format.  All numbers are little-endian:
 *
 *	version  4 bytes
 *	entries  each a tag (2), permissions (2) and an id (4)
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/str.h"

#define TAR_ACL_ACCESS STR("system.posix_acl_access")
#define TAR_ACL_DEFAULT STR("system.posix_acl_default")
#define TAR_ACL_NO_ID UINT32_MAX
#define TAR_ACL_HEADER 4 /* bytes before the entries */

/* The kernel's tags, in the order that the kernel requires. */
enum tar_acl_tag {
	TAR_ACL_USER_OBJ = 0x01,
	TAR_ACL_USER = 0x02,
	TAR_ACL_GROUP_OBJ = 0x04,
	TAR_ACL_GROUP = 0x08,
	TAR_ACL_MASK = 0x10,
	TAR_ACL_OTHER = 0x20,
};

struct tar_acl_entry {
	unsigned tag; /* an enum tar_acl_tag, or any other number that was read */
	unsigned perm;
	uint32_t id;
};

/* Whether a value has the known version and only complete entries. */
bool tar_acl_is_whole(struct str value);
/* Returns the number of complete entries in a value, which must have at least a header. */
size_t tar_acl_count(struct str value);
struct tar_acl_entry tar_acl_entry(struct str value, size_t i);
void tar_acl_set_id(char *value, size_t i, uint32_t id);
/* Returns the encoded list, in memory of the arena.  The list is sorted in place. */
struct str tar_acl_encode(struct arena *arena, struct tar_acl_entry *list, size_t count);
