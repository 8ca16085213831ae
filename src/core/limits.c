#include "core/limits.h"

#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#define MAPPED_FROM (1 << 20) /* smaller buffers are pieces of the heap */
#define KEPT_FREE (8 << 20)
/* less than the 128 MiB of address space that the kernel leaves free for the stack */
#define STACK_WANTED ((rlim_t)112 << 20)

/* The limits that limits_raise has raised, with their old values. */
static struct {
	int resource;
	bool raised;
	struct rlimit was;
} saved[] = { { .resource = RLIMIT_STACK }, { .resource = RLIMIT_NOFILE } };

static bool file_size_ignored;

static void raise_to(size_t which, rlim_t wanted)
{
	struct rlimit limit;

	if (getrlimit(saved[which].resource, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	saved[which].was = limit;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	saved[which].raised = setrlimit(saved[which].resource, &limit) == 0;
}

void limits_raise(void)
{
	raise_to(0, STACK_WANTED);
	raise_to(1, RLIM_INFINITY);
	file_size_ignored = signal(SIGXFSZ, SIG_IGN) == SIG_IGN;
	/*
	 * With one malloc arena per processor, a million files would need several times the memory.
	 */
	mallopt(M_ARENA_MAX, 2);
	/*
	 * Keep freed memory for the next buffers.  Memory that was returned to the kernel costs
	 * page faults when it is mapped again.
	 */
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_TRIM_THRESHOLD, KEPT_FREE);
}

void limits_original(int resource, struct rlimit *out)
{
	*out = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	(void)getrlimit((__rlimit_resource_t)resource, out);
	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		if (saved[i].raised && saved[i].resource == resource)
			*out = saved[i].was;
}

void limits_restore(void)
{
	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		if (saved[i].raised)
			(void)setrlimit(saved[i].resource, &saved[i].was);
	if (!file_size_ignored)
		(void)signal(SIGXFSZ, SIG_DFL);
}
