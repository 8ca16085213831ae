/* owner_priv - the state of an owner and the functions that its source files share. */
#pragma once
#include "core/str.h"
#include "owner/call.h"
#include "owner/capturer.h"
#include "owner/client.h"
#include "owner/methods.h"
#include "owner/news.h"
#include "owner/owner.h"
#include "owner/retainer.h"
#include "owner/supervisor.h"
#include "owner/task.h"

#define OWNER_SIGNALS 4

struct owner_signal {
	struct owner *owner;
	int number;
	struct loop_event *event;
};

struct owner {
	const struct owner_options *options;
	struct loop *loop;
	int run;  /* the directory ROOT/run */
	int lock; /* the locked file ROOT/run/NAME.owner */
	int listener;
	struct loop_event *listening;
	struct owner_signal signals[OWNER_SIGNALS];
	struct task_list tasks;
	struct call *calls;
	int64_t last_number;
	struct client *clients;
	size_t n_clients;
	struct capturer capturer;
	struct retainer retainer;
	struct supervisor supervisor;
	/* the live tree is an overlay, so it is mounted only while a program runs in it */
	bool mounted;
	char head[NODE_ID]; /* id of HEAD in the last event about HEAD that subscribers got */
	int64_t told;       /* time of the newest node that subscribers got an event for */
	bool stopping;
	int status;
};

/*
 * Whether a client's operation that writes to the environment is running.  An operation that runs a
 * command does not count.
 */
bool owner_is_writing(const struct owner *owner);
/* Whether a client's command is running that will make a node when it ends. */
bool owner_is_executing(const struct owner *owner);
/* Open the environment for reading its history. */
int owner_open_env(const struct owner *owner, struct env *env, struct err *err);
/* Print a line on standard error. */
void owner_say(const struct owner *owner, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Capture the last changes, then end the owner with the given exit status. */
void owner_stop(struct owner *owner, int status);
