/* owner_priv - what the parts of an owner share. */
#pragma once
#include "core/str.h"
#include "owner/call.h"
#include "owner/capturer.h"
#include "owner/client.h"
#include "owner/keeper.h"
#include "owner/methods.h"
#include "owner/news.h"
#include "owner/owner.h"
#include "owner/supervisor.h"
#include "owner/task.h"

#define OWNER_SIGNALS 4

struct owner {
	const struct owner_options *options;
	struct loop *loop;
	int run; /* ROOT/run */
	int lock;
	int listener;
	struct loop_event *listening;
	struct loop_event *signals[OWNER_SIGNALS];
	struct task_list tasks;
	struct call *calls;
	int64_t last_number;
	struct client *clients;
	size_t n_clients;
	struct capturer capturer;
	struct keeper keeper;
	struct supervisor supervisor;
	bool mounted;       /* the live tree is there only while something runs in it */
	char head[NODE_ID]; /* as last told */
	int64_t told;       /* nodes up to this time are no news */
	bool stopping;
	int status;
};

/* A client's call that changes things, and may end what runs, is at work. */
bool owner_is_writing(const struct owner *owner);
bool owner_is_executing(const struct owner *owner);
/* Open the environment, to read its history. */
int owner_look(const struct owner *owner, struct env *env, struct err *err);
/* Something for the people at the terminal. */
void owner_say(const struct owner *owner, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Begin to end: with this status, once what changed is kept. */
void owner_stop(struct owner *owner, int status);
