#include "query/fileprint.h"

void fileprint_of(const struct statx *stx, bool with_device, struct hash *hash)
{
	const uint64_t parts[] = {
		with_device ? (uint64_t)stx->stx_dev_major << 32 | stx->stx_dev_minor : 0,
		stx->stx_ino,
		stx->stx_size,
		(uint64_t)stx->stx_mtime.tv_sec,
		(uint64_t)stx->stx_ctime.tv_sec,
		(uint64_t)stx->stx_mtime.tv_nsec << 32 | stx->stx_ctime.tv_nsec,
	};

	hash_of(parts, sizeof(parts), hash);
}

void fileprint_of_inode(uint64_t device, uint64_t inode, struct hash *hash)
{
	/* Tables use only the first number, so that number depends on the device and the inode. */
	const uint64_t parts[] = {
		inode * UINT64_C(0x9e3779b97f4a7c15) ^ device * UINT64_C(0xc2b2ae3d27d4eb4f), inode,
		device, 0, /* no SHA-256 in practice ends in so many zeros */
	};

	_Static_assert(sizeof(parts) == sizeof(hash->bytes), "the parts fill the hash");
	memcpy(hash->bytes, parts, sizeof(parts));
}
