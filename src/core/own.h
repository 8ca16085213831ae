/*
 * own - scope-bound ownership of memory and file descriptors.
 *
 * A local variable that owns something says so in its declaration:
 *
 *	owned_fd int fd = -1;
 *	owned_mem char *name = NULL;
 *	owned(buf_release) struct buf out = BUF_INIT;
 *
 * At the end of the variable's scope its value is released, unless it was handed on earlier:
 *
 *	return take_fd(&fd);
 */
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define owned(release) __attribute__((cleanup(release)))
#define owned_fd owned(close_fd)
#define owned_mem owned(free_mem)

static inline void close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void free_mem(void *slot)
{
	free(*(void **)slot);
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define take_ptr(slot)                                                                             \
	({                                                                                         \
		__typeof__(*(slot)) taken_ = *(slot);                                              \
		*(slot) = NULL;                                                                    \
		taken_;                                                                            \
	})
