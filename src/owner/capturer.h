/*
 * capturer - makes a node of what changes by itself, soon after it changed.
 *
 * A task watches the live tree (capture/watch.h), for it may have to enter a user namespace to
 * see it.  A change starts two timers: the node is made when nothing has changed for
 * CAPTURER_QUIET_MS, and CAPTURER_LONGEST_MS after the first change at the latest.  While a
 * client's command runs, which will make a node of its own, only the second counts.
 *
 * A writer may pause longer than the first and never end: so two nodes are CAPTURER_LONGEST_MS
 * apart, too.  What changes after a longer rest is kept soon, and everything in time.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "history/node.h"
#include "ops/requests.h"
#include "owner/task.h"

#define CAPTURER_QUIET_MS 200
#define CAPTURER_LONGEST_MS 2000
/*
 * A store through a mapping is told by nobody: files that programs have mapped are looked at this
 * often.  With the time the node takes that is within CAPTURER_LONGEST_MS.
 */
#define CAPTURER_MAPPED_MS 1500
/* And all of the tree while programs run, where that is cheap, and where it is not. */
#define CAPTURER_LOOK_MS 20000
#define CAPTURER_LOOK_ALL_MS 300000
#define CAPTURER_PARTIAL_MS 5000 /* the same where not everything can be watched */

struct owner;
struct loop_event;
struct jsonread;

struct capturer {
	struct owner *owner;
	struct watcher *watcher; /* NULL: there is none */
	struct loop_event *quiet, *longest, *look, *mapped, *again;
	bool partial;  /* it cannot watch all */
	bool dirty;    /* something changed since the last capture began ... */
	int64_t since; /* ... for the first time then (when_monotonic) */
	int64_t began; /* the capture that is being made, or was last */
	int64_t made;  /* when the capture began that made the last node; 0: none */
	bool capturing;
	bool looking;              /* at files that are mapped */
	char stores[STORES_STATE]; /* what that gave last */
	bool last;                 /* the one that is being made is the last */
	bool ending;               /* one last capture, then the owner ends */
	int64_t only; /* number of the program that alone can have changed anything; 0: none has */
	bool mixed;   /* somebody else can have */
	unsigned failures;  /* in a row */
	char why[256];      /* the last of them */
	char node[NODE_ID]; /* the last that was made */
	unsigned restarts;
};

void capturer_start(struct capturer *capturer, struct owner *owner);
void capturer_stop(struct capturer *capturer);
/* Something changed, or may have. */
void capturer_touch(struct capturer *capturer);
/* A call begins that may change the tree, or leave something running that does. */
void capturer_suspect(struct capturer *capturer, int64_t number);
/* Nothing that was asked for before can change it any more, unless it still runs. */
void capturer_acquit(struct capturer *capturer);
/* The live tree may be another directory now. */
void capturer_check(struct capturer *capturer);
/* Keep what there is, and then end the owner. */
void capturer_end(struct capturer *capturer);
