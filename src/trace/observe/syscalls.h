/*
 * syscalls - the table of system calls that name files, for the engines and the observer.
 *
 * The table has a line for each call: which arguments it has, and what it does to the file that it
 * names.  docs/howto-add-syscall.md says how to add a call.
 */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of calls.  Each has a line in the table of effects.c. */
enum syscalls_does {
	SYSCALLS_OPEN,     /* flags as in open(2) */
	SYSCALLS_OPEN_HOW, /* flags in a struct open_how */
	SYSCALLS_CREAT,    /* make the file or truncate it, and open it for writing */
	SYSCALLS_LOOK,     /* ask whether a file exists, or for its attributes */
	SYSCALLS_READLINK,
	SYSCALLS_LIST,  /* list the names in a directory */
	SYSCALLS_CHDIR, /* change the working directory */
	SYSCALLS_EXECUTE,
	SYSCALLS_MAKE,   /* make a name */
	SYSCALLS_UNLINK, /* remove a name; AT_REMOVEDIR in flags */
	SYSCALLS_RMDIR,
	SYSCALLS_RENAME, /* two names; RENAME_* in flags */
	SYSCALLS_LINK,   /* two names */
	SYSCALLS_TRUNCATE,
	SYSCALLS_METADATA, /* mode, owner, extended attributes */
	SYSCALLS_TIMES,
	SYSCALLS_CONNECT, /* the path is in a socket address */
	SYSCALLS_BIND,
	SYSCALLS_CHROOT,
	SYSCALLS_MOUNT,  /* change the meaning of paths */
	SYSCALLS_HANDLE, /* open a file by its handle: its name is not known */
	SYSCALLS_DETACH, /* get another mount namespace */
	SYSCALLS_PERMIT, /* ask for permission events: opens will wait for this process */
	SYSCALLS_SECCOMP,
	SYSCALLS_PTRACE, /* stopped only by the engine ptrace */
	SYSCALLS_EXIT,   /* end a thread */
	SYSCALLS_EXIT_GROUP,
	SYSCALLS_DOES, /* number of kinds */
};

/* Whether the call follows a link that is the last name of its path. */
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
	/* Which argument of the call (0: the first) each of these is, or SYSCALLS_NONE. */
	int8_t dirfd; /* none: relative paths begin at the working directory */
	int8_t path;  /* none: dirfd is the file */
	int8_t flags;
	int8_t dirfd2, path2; /* those of the second name, for rename and link */
	/* If this argument has any of the bits, the call is not looked at. */
	int8_t unless;
	/*
	 * If this argument has none of the bits, the call is not looked at.  Only calls that make
	 * namespaces use this.
	 */
	int8_t only;
	uint32_t bits;
};

extern const struct syscalls_call syscalls_table[];
extern const size_t syscalls_count;

/* Returns the line of a call, or NULL if the table has none. */
const struct syscalls_call *syscalls_find(uint32_t nr);

/* Flags with which open(2) may change something. */
#define SYSCALLS_OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)

/*
 * Whether the engine bpf may let the call pass, since it changes nothing, and only its path has to
 * be known.  In two cases the call stops nevertheless: its path begins at a descriptor, or its
 * flags have a bit of syscalls_stops_with.
 */
bool syscalls_can_pass(const struct syscalls_call *call);
uint32_t syscalls_stops_with(const struct syscalls_call *call);
