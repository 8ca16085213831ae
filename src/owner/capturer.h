/*
 * capturer - makes automatic nodes soon after the live tree has changed.
 *
 * A task watches the live tree (capture/watch.h).  The owner itself cannot watch the tree, because
 * a process may have to enter a user namespace to see the tree.
 *
 * A change starts two timers.  The node is made when nothing has changed for CAPTURER_QUIET_MS, and
 * at the latest CAPTURER_LONGEST_MS after the first change.  While a client's command runs, only
 * the second timer is used, since the command will make its own node.
 *
 * A program may go on writing for ever with pauses longer than CAPTURER_QUIET_MS.  So two nodes are
 * at least CAPTURER_LONGEST_MS apart.  If the last node is older than this time, a change is
 * captured after CAPTURER_QUIET_MS.
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
 * Time between two checks of mapped files.  The checks are needed because inotify does not report a
 * write through a memory mapping.  The sum of this time and the time that a node takes is less than
 * CAPTURER_LONGEST_MS.
 */
#define CAPTURER_MAPPED_MS 1500
/* While programs run, captures are also made without a reported change, at these intervals: */
#define CAPTURER_LOOK_MS 20000      /* for an overlay, which is cheap to scan */
#define CAPTURER_LOOK_ALL_MS 300000 /* for any other tree */
#define CAPTURER_PARTIAL_MS 5000    /* for a tree that cannot be watched completely */

struct owner;
struct loop_event;
struct jsonread;

struct capturer {
	struct owner *owner;
	struct watcher *watcher; /* NULL: no watcher runs */
	struct loop_event *quiet, *longest, *look, *mapped, *again;
	bool partial;  /* some directories are not watched */
	bool dirty;    /* the tree changed after the last capture began */
	int64_t since; /* time at which 'dirty' was set (when_monotonic) */
	int64_t began; /* time at which the running or last capture began */
	int64_t made;  /* time at which the capture of the last node began; 0: no node yet */
	bool capturing;
	bool looking;              /* a task is checking mapped files */
	char stores[STORES_STATE]; /* the result of the last check of mapped files */
	bool last;                 /* the owner ends after the running capture */
	bool ending;               /* the owner ends after one last capture */
	int64_t only; /* number of the last call that may have changed the tree; 0: none */
	/* a program other than the command of the call 'only' may have changed the tree */
	bool mixed;
	unsigned failures;  /* number of captures that have failed in a row */
	char why[256];      /* reason why the last capture failed */
	char node[NODE_ID]; /* the last automatic node */
	unsigned restarts;  /* number of restarts of the watcher in a row */
};

void capturer_start(struct capturer *capturer, struct owner *owner);
void capturer_stop(struct capturer *capturer);
/*
 * Record the start of a call that may change the tree, or that may start a program that changes the
 * tree later.
 */
void capturer_note_writer(struct capturer *capturer, int64_t number);
/*
 * Forget the recorded calls that have ended, because they cannot make any later change.  Calls and
 * programs that are still running may make later changes.
 */
void capturer_forget_writers(struct capturer *capturer);
/* Have the watcher check whether another directory has become the live tree. */
void capturer_check_tree(struct capturer *capturer);
/* Make the last capture, then end the owner. */
void capturer_end(struct capturer *capturer);
