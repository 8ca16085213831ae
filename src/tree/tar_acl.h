/*
 * tar_acl - POSIX ACLs as the kernel has them in an xattr:
 *
 *	version  4 bytes, little-endian as all of it
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

/* The kernel's tags; ascending order is the one it demands. */
enum tar_acl_tag {
	TAR_ACL_USER_OBJ = 0x01,
	TAR_ACL_USER = 0x02,
	TAR_ACL_GROUP_OBJ = 0x04,
	TAR_ACL_GROUP = 0x08,
	TAR_ACL_MASK = 0x10,
	TAR_ACL_OTHER = 0x20,
};

struct tar_acl_entry {
	unsigned tag; /* may be another, in what we read */
	unsigned perm;
	uint32_t id;
};

/* Whether a value has the version we know, and whole entries. */
bool tar_acl_is_whole(struct str value);
/* Of such a value. */
size_t tar_acl_count(struct str value);
struct tar_acl_entry tar_acl_entry(struct str value, size_t i);
/* The value of a list, which is put in order. */
struct str tar_acl_encode(struct arena *arena, struct tar_acl_entry *list, size_t count);
