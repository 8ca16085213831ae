/*
 * inherited - properties that a program inherits, carried from one process to another.
 *
 * A command in a sandbox is a child of the holder.  But the limits, the priorities and the settings
 * of setarch(8) and setpriv(1) of the command must be those of the strata process that was asked to
 * run it.
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

/* Read the settings of this process.  The limits are those that it had before limits_raise. */
void inherited_take(struct inherited *out);

/*
 * Apply the settings to this process.  Raising a hard limit and improving a priority need rights.
 * If this process does not have the rights, it keeps its own values.  no_new_privs cannot be
 * cleared.
 */
void inherited_apply(const struct inherited *inherited);
