/*
 * supervisor - runs the agent, and runs it again after a rollback has killed it.
 *
 *	waiting -> running -> (ended by itself) the owner ends with the agent's status
 *	              |
 *	              +----> (killed by a rollback) waiting for the rollback and a pause to end
 *
 * Every rollback is counted in the history before it kills programs, and it is over when the lock
 * of the workspace is free again.  Other requests to the owner do not delay the next start.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SUPERVISOR_PAUSE_MS 100 /* before the second start within SUPERVISOR_SOON_NS; doubled */
#define SUPERVISOR_PAUSE_MAX_MS 5000
#define SUPERVISOR_SOON_NS (INT64_C(10) * 1000000000)
#define SUPERVISOR_POLL_MS 50 /* how often to look whether the rollback is over */
#define SUPERVISOR_SAY_NS (INT64_C(2) * 1000000000) /* a longer wait is reported */
#define SUPERVISOR_STOP_MS 10000                    /* from the signal to end until SIGKILL */

struct call;
struct owner;
struct loop_event;

struct supervisor {
	struct owner *owner;
	struct call *agent;       /* NULL: the agent does not run */
	struct loop_event *start; /* timer: start the agent */
	struct loop_event *stop;  /* timer: kill the agent, which was told to end */
	unsigned in_a_row;        /* starts, each within SUPERVISOR_SOON_NS of the one before */
	int64_t started;          /* when the agent was started last */
	int64_t rollback;         /* the last rollback before that start */
	bool killed;              /* a rollback killed the agent, which waits for its next start */
	bool said;                /* the user was told that the agent waits */
	int64_t ended;            /* when the agent was killed */
	int told;                 /* the signal that told the agent to end; 0: none */
};

void supervisor_start(struct supervisor *supervisor, struct owner *owner);
void supervisor_stop(struct supervisor *supervisor);
/*
 * Called when an operation has ended.  If it was a rollback that killed the agent, start the agent
 * again.
 */
void supervisor_restart_if_killed(struct supervisor *supervisor);
/* Make the agent end, and the owner after it. */
void supervisor_signal(struct supervisor *supervisor, int sig);
