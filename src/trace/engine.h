/*
 * engine - how calls are caught.  One struct per way; the first whose probe
 * succeeds is taken.
 */
#pragma once
#include "core/err.h"
#include "trace/launch.h"
#include "trace/observer.h"
#include "trace/passing.h"

#define ENGINE_LOOK_AROUND_MS 100 /* between a look and a signal just before it */

struct engine_run {
	struct observer *observer;
	struct saver *saver;
	struct launch *launch;
	bool in_group;           /* signals for the command reach it without us */
	bool listings;           /* see filter.h */
	bool filtered;           /* ptrace: with a filter */
	struct passing *passing; /* bpf: sees what the filter lets pass; owned by who owns this */
	bool left;               /* processes of the command were not waited for to the end */
	int status;              /* result: of the command, as wait gives it */
	int64_t ended_at;        /* when it ended (when_monotonic); 0: it has not */
};

struct engine {
	const char *name;
	/* 0 if it works here; else the error says why not.  May note in run how it will. */
	int (*probe)(struct engine_run *run, struct err *err);
	/* In the child, before it executes: see launch.h; arg is the struct engine_run. */
	launch_prepare *prepare;
	/*
	 * Let the child go, and see to all calls until the last process has ended.  An error
	 * means that the command did not run.
	 */
	int (*run)(struct engine_run *run, struct err *err);
};

/* For engines: the command itself has ended; others may go on. */
void engine_ended(struct engine_run *run, int status);
/* For engines: why not to wait for the last process; NULL: to wait. */
const char *engine_why_leave(const struct engine_run *run);

extern const struct engine engine_bpf;
extern const struct engine engine_notify;
extern const struct engine engine_ptrace;
