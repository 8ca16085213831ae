/*
 * supervisor - runs the agent, and runs it again when a rollback has taken it down.
 *
 *	waiting -> running -> (ended by itself) the owner ends with its status
 *	              |
 *	              +----> (killed by a rollback) waiting, until that is done and a pause is over
 *
 * A rollback is noted in the history before anything is killed, whoever does it, and is done when
 * the lock of the workspace is free again.  What else is asked of the owner meanwhile is no
 * reason to wait.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SUPERVISOR_PAUSE_MS 100 /* before the second start within SUPERVISOR_SOON_NS; doubled */
#define SUPERVISOR_PAUSE_MAX_MS 5000
#define SUPERVISOR_SOON_NS (INT64_C(10) * 1000000000)
#define SUPERVISOR_POLL_MS 50 /* how often it looks whether the rollback is done */
#define SUPERVISOR_SAY_NS (INT64_C(2) * 1000000000) /* it waits for so long before it says so */
#define SUPERVISOR_STOP_MS 10000                    /* for the agent to end when it is told to */

struct call;
struct owner;
struct loop_event;

struct supervisor {
	struct owner *owner;
	struct call *agent;       /* while it runs */
	struct loop_event *start; /* when it is time */
	struct loop_event *stop;  /* when it had time enough */
	unsigned in_a_row;        /* starts, each soon after the one before */
	int64_t started;
	int64_t rollback; /* the last one when it was started */
	bool killed;      /* by a rollback: start it again once that is done */
	bool said;        /* that it waits for that */
	int64_t ended;    /* when it was killed */
	int told;         /* a signal to end */
};

void supervisor_start(struct supervisor *supervisor, struct owner *owner);
void supervisor_stop(struct supervisor *supervisor);
/* An operation has ended. */
void supervisor_look(struct supervisor *supervisor);
/* Have the agent end. */
void supervisor_signal(struct supervisor *supervisor, int sig);
