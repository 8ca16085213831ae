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
	bool in_root;                  /* paths begin at, and end in, the directory it names */
	uint64_t number;               /* what has to be done first */
	bool may_change;               /* a file, or what a name means */
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

/* What the descriptor that the call names is, where it has no name: deleted, say. */
bool sight_nameless(struct sight *sight, struct statx *stx);

/*
 * What has to be read while the program waits, for a sight that comes later.  Its length; 0: more
 * will have to be asked of the program.
 */
size_t sight_glimpse(const struct observer *observer, const struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about,
	struct glimpse *glimpse);
