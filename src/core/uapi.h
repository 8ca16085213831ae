/* uapi - kernel constants newer than Debian 12's headers (6.1). */
#pragma once
#include <stdint.h>
#include <sys/ioctl.h>
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

#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

/*
 * A flag of a seccomp listener (Linux 6.6): when a traced process and the process with the listener
 * wake each other, the woken process runs at once, on the same processor.
 */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#endif

/* The struct of sched_setattr, which the C library (2.36) does not have. */
struct uapi_sched_attr {
	uint32_t size;
	uint32_t sched_policy;
	uint64_t sched_flags;
	int32_t sched_nice;
	uint32_t sched_priority;
	uint64_t sched_runtime;
	uint64_t sched_deadline;
	uint64_t sched_period;
	uint32_t sched_util_min;
	uint32_t sched_util_max;
};

/* The result of UAPI_PIDFD_GET_INFO: how the process of a pidfd ended (Linux 6.15). */
struct uapi_pidfd_info {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define UAPI_PIDFD_INFO_EXIT (1ULL << 3)
#define UAPI_PIDFD_GET_INFO _IOWR(0xFF, 11, struct uapi_pidfd_info)

/* Landlock.  Version 7 (Linux 6.15) is the newest that strata knows. */
#define UAPI_LANDLOCK_VERSION 1U /* for landlock_create_ruleset(2) */
#define UAPI_LANDLOCK_ABI_REFER 2
#define UAPI_LANDLOCK_ABI_TRUNCATE 3
#define UAPI_LANDLOCK_ABI_NET 4
#define UAPI_LANDLOCK_ABI_IOCTL 5
#define UAPI_LANDLOCK_ABI_SCOPES 6
#define UAPI_LANDLOCK_ABI_LOG 7
#define UAPI_LANDLOCK_TRUNCATE (1ULL << 14)
#define UAPI_LANDLOCK_IOCTL_DEV (1ULL << 15)
#define UAPI_LANDLOCK_BIND_TCP (1ULL << 0)
#define UAPI_LANDLOCK_CONNECT_TCP (1ULL << 1)
#define UAPI_LANDLOCK_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define UAPI_LANDLOCK_SIGNAL (1ULL << 1)
#define UAPI_LANDLOCK_LOG_SAME_EXEC_OFF (1U << 0) /* for landlock_restrict_self(2) */
#define UAPI_LANDLOCK_RULE_NET_PORT 2

struct uapi_landlock_ruleset {
	uint64_t files, net, scoped;
};

struct uapi_landlock_port {
	uint64_t access, port;
};
