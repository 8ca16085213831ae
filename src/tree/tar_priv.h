/* tar_priv - limits and sizes that the reader and the writer of archives share. */
#pragma once
#include "tree/tar.h"
#include "tree/tar_acl.h"

/*
 * The limits for names are lower than those of libarchive.  libarchive refuses a pax record of
 * 1,000,000 bytes, and also the pax records of a member if their sum is 1 MiB.
 */
#define TAR_PATH_LIMIT ((size_t)900 << 10)    /* for a path or a link target */
#define TAR_HEADER_LIMIT ((size_t)1000 << 10) /* for path, link and all xattrs together */
#define TAR_XATTR_NAME_LIMIT ((size_t)255)
#define TAR_XATTR_VALUE_LIMIT ((size_t)64 << 10) /* the limit of the kernel */
#define TAR_XATTR_COUNT_LIMIT ((size_t)4096)
#define TAR_EXTENT_COUNT_LIMIT ((size_t)4 << 20)

#define TAR_BLOCK 512
#define TAR_IO_SIZE ((size_t)256 << 10)
#define TAR_NS_PER_S 1000000000
