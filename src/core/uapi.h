/* uapi - kernel constants newer than Debian 12's headers (6.1). */
#pragma once
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif

struct uapi_xattr_args {
	_Alignas(8) uint64_t value;
	uint32_t size;
	uint32_t flags;
};

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
