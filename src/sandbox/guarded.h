/*
 * guarded - the commands of a sandbox that must not run without their wardens.
 *
 * A warden (commandspace.h) enforces limits and explains denials.  It ends by itself only when its
 * command and all descendants of the command have ended.  A warden that ends earlier was killed.
 * The holder then kills the command and its descendants, too.
 *
 * The holder keeps the list, since the holder lives as long as the processes.
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
	pid_t command;          /* pid of the command; 0: the holder has reaped it */
	unsigned long long mnt; /* inode number of the mount namespace of the command */
};

struct guarded {
	struct guarded_command list[GUARDED_MAX];
	size_t n;
};

/* Check that there is room for one more command. */
int guarded_has_room(const struct guarded *guarded, struct err *err);
/*
 * Add a command that is being started.  The list takes over 'warden', a pidfd.  'mnt' is a
 * descriptor of the command's mount namespace.
 */
void guarded_add_take(struct guarded *guarded, pid_t command, int warden, int mnt);
/* Record that a child was reaped.  Its number may soon belong to another process. */
void guarded_note_reaped(struct guarded *guarded, pid_t pid);
/* Fill the array 'out' for poll(2).  Returns the number of elements, at most GUARDED_MAX. */
size_t guarded_poll(const struct guarded *guarded, struct pollfd *out);
/* Whether one of the n elements shows, after a poll, that a warden has ended. */
bool guarded_any_ended(const struct pollfd *ready, size_t n);
/*
 * Handle the first n elements after a poll: kill the remaining processes of commands whose wardens
 * have ended.  'proc' is the /proc of the sandbox; -1: there is none.
 */
void guarded_handle(struct guarded *guarded, const struct pollfd *ready, size_t n, int proc);
