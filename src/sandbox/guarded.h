/*
 * guarded - the commands of a sandbox that must not run without their wardens.
 *
 * A warden enforces limits and explains denials while its command or a descendant of it runs
 * (commandspace.h).  It ends by itself only when none of them is left.  So processes that remain
 * when a warden has ended have lost it, because something killed it, and are killed as well.
 *
 * The holder keeps the list: it lives as long as the processes do.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"

#define GUARDED_MAX 256

struct guarded_command {
	int warden;             /* pidfd of the warden */
	pid_t command;          /* child of the holder; 0: it has been reaped */
	unsigned long long mnt; /* inode number of the mount namespace of the command */
};

struct guarded {
	struct guarded_command list[GUARDED_MAX];
	size_t n;
};

/* Check that there is room for one more command. */
int guarded_has_room(const struct guarded *guarded, struct err *err);
/*
 * Add a command that is being started.  warden is a pidfd and is taken over.  mnt is a descriptor
 * of its mount namespace.
 */
void guarded_add_take(struct guarded *guarded, pid_t command, int warden, int mnt);
/* Note that a child was reaped, so that its number may soon be that of another process. */
void guarded_note_reaped(struct guarded *guarded, pid_t pid);
/* Fill in what to wait for.  Returns the number of elements, at most GUARDED_MAX. */
size_t guarded_poll(const struct guarded *guarded, struct pollfd *out);
/* Whether one of n elements says after a poll that a warden has ended. */
bool guarded_any_ended(const struct pollfd *ready, size_t n);
/*
 * Handle the first n elements after a poll: kill what is left of commands whose wardens have ended.
 * proc is the /proc of the sandbox; -1: there is none.
 */
void guarded_handle(struct guarded *guarded, const struct pollfd *ready, size_t n, int proc);
