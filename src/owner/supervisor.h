/*
 * supervisor - runs the agent, and starts the agent again after a rollback has killed it.
 *
 *	waiting -> running -> (ended by itself) the owner ends with the agent's status
 *	              |
 *	              +----> (killed by a rollback) waiting for the rollback and a pause to end
 *
 * Every rollback is counted in the history before it kills programs.  A rollback is over when the
 * lock of the workspace is free again.  Other requests to the owner do not delay the next start.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Pause before the agent is started for the second time within SUPERVISOR_SOON_NS.  The pause is
 * doubled with each further start, up to SUPERVISOR_PAUSE_MAX_MS.
 */
#define SUPERVISOR_PAUSE_MS 100
#define SUPERVISOR_PAUSE_MAX_MS 5000
#define SUPERVISOR_SOON_NS (INT64_C(10) * 1000000000)
#define SUPERVISOR_POLL_MS 50 /* interval between two checks whether the rollback is over */
/* if the rollback takes longer than this, the user is told that the agent waits for it */
#define SUPERVISOR_SAY_NS (INT64_C(2) * 1000000000)
/* time from the signal that asks the agent to end until SIGKILL */
#define SUPERVISOR_STOP_MS 10000

struct call;
struct owner;
struct loop_event;

struct supervisor {
	struct owner *owner;
	struct call *agent;       /* NULL: the agent does not run */
	struct loop_event *start; /* timer of the agent's next start */
	struct loop_event *stop;  /* timer that kills the agent if it does not end when asked to */
	/*
	 * number of starts of the agent, each less than SUPERVISOR_SOON_NS after the previous one
	 */
	unsigned in_a_row;
	int64_t started;  /* time at which the agent was started last */
	int64_t rollback; /* number of the last rollback before the agent was started */
	bool killed;      /* a rollback has killed the agent, and the agent will be started again */
	bool said;        /* the user has been told that the agent waits for the rollback */
	int64_t ended;    /* time at which the agent was killed */
	int told;         /* the signal that was sent to end the agent; 0: none */
};

void supervisor_start(struct supervisor *supervisor, struct owner *owner);
void supervisor_stop(struct supervisor *supervisor);
/*
 * To be called when an operation has ended.  If a rollback has killed the agent, and this rollback
 * is over, the agent is started again.
 */
void supervisor_restart_if_killed(struct supervisor *supervisor);
/* Send sig to the agent to make it end.  The owner ends after the agent. */
void supervisor_signal(struct supervisor *supervisor, int sig);
