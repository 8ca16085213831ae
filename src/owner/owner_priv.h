/* owner_priv - what the parts of an owner share. */
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
	int run;  /* ROOT/run */
	int lock; /* on ROOT/run/NAME.owner */
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
	bool mounted;       /* an overlay: the live tree exists only while a program runs in it */
	char head[NODE_ID]; /* HEAD as subscribers know it */
	int64_t told;       /* time of the newest node that subscribers know of */
	bool stopping;
	int status;
};

/*
 * Whether an operation of a client is running that writes to the environment, other than a command.
 */
bool owner_is_writing(const struct owner *owner);
/* Whether a client's command is running that makes a node itself when it ends. */
bool owner_is_executing(const struct owner *owner);
/* Open the environment for reading its history. */
int owner_open_env(const struct owner *owner, struct env *env, struct err *err);
/* Print a line on standard error. */
void owner_say(const struct owner *owner, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Capture the last changes, then end the owner with this exit status. */
void owner_stop(struct owner *owner, int status);
