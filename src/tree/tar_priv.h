/*
 * tar_priv - what reading and writing archives share.
 */
#pragma once
#include "tree/tar.h"
#include "tree/tar_acl.h"

/* libarchive refuses to read a pax record of 1,000,000 bytes, and 1 MiB of them together. */
#define TAR_PATH_LIMIT ((size_t)900 << 10)    /* of a path, or a link target */
#define TAR_HEADER_LIMIT ((size_t)1000 << 10) /* of path, link, xattr names and values together */
#define TAR_XATTR_NAME_LIMIT ((size_t)255)
#define TAR_XATTR_VALUE_LIMIT ((size_t)64 << 10) /* the kernel's own */
#define TAR_XATTR_COUNT_LIMIT ((size_t)4096)
#define TAR_EXTENT_COUNT_LIMIT ((size_t)4 << 20)

#define TAR_BLOCK 512
#define TAR_IO_SIZE ((size_t)256 << 10)
#define TAR_NS_PER_S 1000000000
