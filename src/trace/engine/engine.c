#include "trace/engine/engine.h"

#include "core/when.h"

/*
 * how long other processes may go on after the first process of the command has ended; only for a
 * command in an environment
 */
#define GRACE_MS 200

const char *engine_why_leave(const struct engine_run *run)
{
	if (launch_is_told_to_end())
		return "strata was told to end while processes of the command were still running";
	if (run->in_group && run->ended_at && when_monotonic() > run->ended_at + GRACE_MS * WHEN_MS)
		return "processes of the command were still running when the command had ended";
	return NULL;
}

void engine_ended(struct engine_run *run, int status)
{
	run->status = status;
	run->ended_at = when_monotonic();
	launch_forward_end();
}
