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
