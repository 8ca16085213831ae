/*
 * sight - one system call while it is looked at, and the files it names.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/observer.h"
#include "trace/syscalls.h"

#define SIGHT_PATH_MAX 65536 /* longer ones are in no bundle */

/*
 * A call that was put into the backlog: with its name, and what a relative one begins at, an
 * entry or the name of what is behind a descriptor.
 */
struct glimpse {
	struct observer_call call;
	const struct syscalls_call *about;
	pid_t pid;
	uint32_t process;
	struct pathmap_entry *base;
	bool passed;           /* it was not stopped, see passing.h; */
	uint64_t task, closes; /* then as there */
	size_t text_len, base_len;
	char text[2 * PATH_MAX]; /* each with a NUL */
};

/* One call while it is looked at. */
struct sight {
	struct observer *observer;
	struct recorder *recorder;
	struct tracee *tracee;
	const struct observer_call *call;
	const struct syscalls_call *about;
	const struct glimpse *glimpse; /* NULL: the program waits, and can be asked */
	struct pathmap_entry
		*resolved;      /* the last path of it that was not the descriptor's alone */
	bool in_root;           /* paths begin at, and end in, the directory it names */
	uint64_t number;        /* what has to be done first */
	struct record *missing; /* what it opens, if that was not there */
	bool may_change;        /* a file, or what a name means */
};

int sight_argument(const struct sight *sight, int8_t index);
unsigned sight_flags(const struct sight *sight);
/* Whether a link as the last name is followed. */
bool sight_follows(const struct sight *sight);
void sight_cannot_look(struct sight *sight);

/* NULL: has no name, or cannot be known. */
struct pathmap_entry *sight_first(struct sight *sight);
struct pathmap_entry *sight_second(struct sight *sight);
struct pathmap_entry *sight_named(struct sight *sight, int8_t dirfd, int8_t path, bool follow);
struct pathmap_entry *sight_resolve(struct sight *sight, int fd, struct str path, bool follow);

/* It has opened this file before it was looked at, while others may write to it. */
void sight_did_not_wait(struct sight *sight, const struct record *record, const struct statx *stx);

/* What the descriptor that the call names is, where it has no name: deleted, say. */
bool sight_nameless(struct sight *sight, struct statx *stx);

/*
 * What has to be read while the program waits, for a sight that comes later.  Its length; 0: more
 * will have to be asked of the program.
 */
size_t sight_glimpse(const struct observer *observer, const struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about,
	struct glimpse *glimpse);
/*
 * The same of a call that has passed.  Its length; lacks_base: where its path begins is not known,
 * and sight_find_base has to be called while the names are ours.
 */
size_t sight_glimpse_passed(const struct observer *observer, const struct tracee *tracee,
	const struct observer_passed *passed, const struct syscalls_call *about,
	struct glimpse *glimpse, bool *lacks_base);
/*
 * Remember the working directory of a process that has only this thread, for calls of it that
 * pass: when it is killed it cannot be asked.
 */
void sight_remember_cwd(struct sight *sight);
/* Whether it is known now; else the reasons say so, if there should be one. */
bool sight_find_base(struct sight *sight, struct glimpse *glimpse);
/* Whether what the path leads to may be another thing when the program has gone on. */
bool sight_is_fleeting(const struct glimpse *glimpse);
