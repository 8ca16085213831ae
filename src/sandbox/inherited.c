#include "sandbox/inherited.h"

#include <linux/ioprio.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/limits.h"

/* argument by which personality(2) only returns the setting */
#define PERSONALITY_ASK 0xffffffffUL

void inherited_take(struct inherited *out)
{
	*out = (struct inherited){ 0 };
	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		limits_original(i, &out->limits[i]);
	if (syscall(SYS_sched_getattr, 0, &out->schedule, sizeof(out->schedule), 0) < 0)
		out->schedule.size = 0;
	/*
	 * This call fails if the machine has more processors than the set can hold.  In that case
	 * the affinity is not passed on.
	 */
	if (sched_getaffinity(0, sizeof(out->processors), &out->processors) < 0)
		CPU_ZERO(&out->processors);
	out->io_priority = (int32_t)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	out->personality = personality(PERSONALITY_ASK);
	out->timer_slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
	out->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0;
}

static void apply_limit(int resource, const struct rlimit *wanted)
{
	struct rlimit now, possible = *wanted;

	if (setrlimit(resource, wanted) == 0 || getrlimit(resource, &now) < 0)
		return;
	possible.rlim_max = now.rlim_max;
	if (possible.rlim_cur > possible.rlim_max)
		possible.rlim_cur = possible.rlim_max;
	(void)setrlimit(resource, &possible);
}

void inherited_apply(const struct inherited *inherited)
{
	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		apply_limit(i, &inherited->limits[i]);
	if (inherited->schedule.size)
		(void)syscall(SYS_sched_setattr, 0, &inherited->schedule, 0);
	if (CPU_COUNT(&inherited->processors))
		(void)sched_setaffinity(0, sizeof(inherited->processors), &inherited->processors);
	if (inherited->io_priority >= 0)
		(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, inherited->io_priority);
	if (inherited->personality >= 0)
		(void)personality((unsigned long)inherited->personality);
	if (inherited->timer_slack > 0)
		(void)prctl(PR_SET_TIMERSLACK, (unsigned long)inherited->timer_slack, 0, 0, 0);
	if (inherited->no_new_privs)
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
