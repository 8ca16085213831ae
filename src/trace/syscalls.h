/*
 * syscalls - which system calls name files, and how: the table both engines
 * and the observer go by.
 *
 * One line a call: where its arguments are and what it does to the file it
 * names.  To add a call, add its line (docs/howto-add-syscall.md).
 */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call does; each has its way of being seen, in the table of ways.c. */
enum syscalls_does {
	SYSCALLS_OPEN,     /* flags as of open(2) */
	SYSCALLS_OPEN_HOW, /* flags in a struct open_how */
	SYSCALLS_CREAT,    /* open for writing, made or cut */
	SYSCALLS_LOOK,     /* is it there, what is it like */
	SYSCALLS_READLINK,
	SYSCALLS_LIST,  /* names of a directory */
	SYSCALLS_CHDIR, /* it becomes the working one */
	SYSCALLS_EXECUTE,
	SYSCALLS_MAKE,   /* a new name */
	SYSCALLS_UNLINK, /* a name less; AT_REMOVEDIR in flags */
	SYSCALLS_RMDIR,
	SYSCALLS_RENAME, /* two names; RENAME_* in flags */
	SYSCALLS_LINK,   /* two names */
	SYSCALLS_TRUNCATE,
	SYSCALLS_METADATA, /* mode, owner, times, extended attributes */
	SYSCALLS_CONNECT,  /* the path is in a socket address */
	SYSCALLS_BIND,
	SYSCALLS_CHROOT,
	SYSCALLS_MOUNT,  /* what a path means may change */
	SYSCALLS_HANDLE, /* a file without a name: cannot be followed */
	SYSCALLS_DETACH, /* another mount namespace */
	SYSCALLS_PERMIT, /* to be asked before a file is opened */
	SYSCALLS_SECCOMP,
	SYSCALLS_PTRACE, /* caught by the engine ptrace only */
	SYSCALLS_EXIT,   /* of a thread */
	SYSCALLS_EXIT_GROUP,
	SYSCALLS_DOES, /* how many */
};

/* Whether a link as the last name is followed. */
enum syscalls_follow {
	SYSCALLS_FOLLOWS,
	SYSCALLS_STAYS,
	SYSCALLS_BY_FLAG,    /* unless AT_SYMLINK_NOFOLLOW (O_NOFOLLOW for the open family) */
	SYSCALLS_IF_FLAGGED, /* only with AT_SYMLINK_FOLLOW */
};

#define SYSCALLS_NONE (-1)

struct syscalls_call {
	uint32_t nr;
	const char *name;
	enum syscalls_does does;
	enum syscalls_follow follow;
	/* Numbers of arguments, or SYSCALLS_NONE. */
	int8_t dirfd; /* none: a path is relative to the working directory */
	int8_t path;  /* none: dirfd is the file itself */
	int8_t flags;
	int8_t dirfd2, path2; /* the second name of rename and link */
	/* The engines let it pass unseen where this argument has any of these bits ... */
	int8_t unless;
	/* ... or, for those that make namespaces, where it has none of them. */
	int8_t only;
	uint32_t bits;
};

extern const struct syscalls_call syscalls_table[];
extern const size_t syscalls_count;

const struct syscalls_call *syscalls_find(uint32_t nr);

/* With any of these bits open(2) changes something. */
#define SYSCALLS_OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)

/*
 * Whether an engine that sees calls without stopping them may let it pass: it changes nothing,
 * and its path is all there is to know, unless it names a directory by descriptor, or its flags
 * have a bit of syscalls_stops_with.
 */
bool syscalls_can_pass(const struct syscalls_call *call);
uint32_t syscalls_stops_with(const struct syscalls_call *call);
