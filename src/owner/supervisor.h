/*
 * supervisor - runs the agent, and runs it again when a rollback has taken it down.
 *
 *	waiting -> running -> (ended by itself) the owner ends with its status
 *	              |
 *	              +----> (killed by a rollback) waiting, until that is done and a pause is over
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SUPERVISOR_PAUSE_MS 100 /* before the second start within SUPERVISOR_SOON_NS; doubled */
#define SUPERVISOR_PAUSE_MAX_MS 5000
#define SUPERVISOR_SOON_NS (INT64_C(10) * 1000000000)
#define SUPERVISOR_STOP_MS 10000 /* for the agent to end when it is told to */

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
	int told;         /* a signal to end */
};

void supervisor_start(struct supervisor *supervisor, struct owner *owner);
void supervisor_stop(struct supervisor *supervisor);
/* An operation has ended. */
void supervisor_look(struct supervisor *supervisor);
/* Have the agent end. */
void supervisor_signal(struct supervisor *supervisor, int sig);
