/*
 * inherited - what a program has of the process that starts it, handed from one process to another.
 *
 * A command of a sandbox is a child of its holder.  Limits and priorities shall be those of the
 * strata that the command was given to, and so shall what setarch(8) and setpriv(1) set.
 */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* The kernel's struct sched_attr as of Linux 3.14. */
struct inherited_schedule {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct inherited {
	struct rlimit limits[RLIMIT_NLIMITS];
	struct inherited_schedule schedule;
	cpu_set_t processors;
	int32_t io_priority; /* negative: unknown */
	int32_t personality; /* negative: unknown */
	int32_t timer_slack; /* in ns; 0: unknown */
	bool no_new_privs;
};

/* What a child of this process would have; the limits are those from before limits_raise. */
void inherited_take(struct inherited *out);

/*
 * Have it.  A hard limit above ours takes rights that this process may not have, and so does a
 * better priority: then ours stay.  no_new_privs stays where this process has it.
 */
void inherited_apply(const struct inherited *inherited);
