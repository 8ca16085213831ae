/*
 * syscalls - the table of system calls that name files, for the engines and the observer.
 *
 * The table has a line for each call: which arguments the call has, and which kind of call it is.
 * docs/howto-add-syscall.md describes how to add a call.
 */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of calls.  Each kind has a line in the table of effects.c. */
enum syscalls_does {
	SYSCALLS_OPEN,     /* has flags of open(2) */
	SYSCALLS_OPEN_HOW, /* has its flags in a struct open_how */
	SYSCALLS_CREAT,    /* make the file or truncate it, and open it for writing */
	SYSCALLS_LOOK,     /* ask whether a file exists, or for its attributes */
	SYSCALLS_READLINK,
	SYSCALLS_LIST,  /* list the names in a directory */
	SYSCALLS_CHDIR, /* change the working directory */
	SYSCALLS_EXECUTE,
	SYSCALLS_MAKE,   /* make a directory, a symbolic link or a special file */
	SYSCALLS_UNLINK, /* remove a name; AT_REMOVEDIR may be in the flags */
	SYSCALLS_RMDIR,
	SYSCALLS_RENAME, /* has two names; RENAME_* may be in the flags */
	SYSCALLS_LINK,   /* has two names */
	SYSCALLS_TRUNCATE,
	SYSCALLS_METADATA, /* change the mode, the owner or the extended attributes */
	SYSCALLS_TIMES,
	SYSCALLS_CONNECT, /* has its path in a socket address */
	SYSCALLS_BIND,
	SYSCALLS_CHROOT,
	SYSCALLS_MOUNT,  /* change where a path leads */
	SYSCALLS_HANDLE, /* open a file by its handle, so its name is not known */
	SYSCALLS_DETACH, /* enter another mount namespace */
	/* ask for permission events, so that opens of other processes wait for this process */
	SYSCALLS_PERMIT,
	SYSCALLS_SECCOMP,
	SYSCALLS_PTRACE, /* such a call stops only in the engine ptrace */
	SYSCALLS_EXIT,   /* end a thread */
	SYSCALLS_EXIT_GROUP,
	SYSCALLS_DOES, /* number of kinds */
};

/* Whether the call follows a symbolic link that is the last name of its path. */
enum syscalls_follow {
	SYSCALLS_FOLLOWS,
	SYSCALLS_STAYS,
	/* yes, unless the flags have AT_SYMLINK_NOFOLLOW (O_NOFOLLOW for open calls) */
	SYSCALLS_BY_FLAG,
	SYSCALLS_IF_FLAGGED, /* only if the flags have AT_SYMLINK_FOLLOW */
};

#define SYSCALLS_NONE (-1)

struct syscalls_call {
	uint32_t nr;
	const char *name;
	enum syscalls_does does;
	enum syscalls_follow follow;
	/*
	 * Positions of the arguments, counted from 0.  SYSCALLS_NONE means that the call has no
	 * such argument.
	 */
	int8_t dirfd; /* if there is none, relative paths begin at the working directory */
	int8_t path;  /* if there is none, the call names the file of dirfd */
	int8_t flags;
	int8_t dirfd2, path2; /* the second name of a rename or link */
	/*
	 * Position of an argument.  If the argument has any of the bits in 'bits', the call is not
	 * examined.
	 */
	int8_t unless;
	/*
	 * Position of an argument.  If the argument has none of the bits in 'bits', the call is not
	 * examined.  Only calls that make namespaces have such an argument.
	 */
	int8_t only;
	uint32_t bits;
};

extern const struct syscalls_call syscalls_table[];
extern const size_t syscalls_count;

/* Returns the line of a call, or NULL if the call is not in the table. */
const struct syscalls_call *syscalls_find(uint32_t nr);

/* Flags with which open(2) may change a file. */
#define SYSCALLS_OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)

/*
 * Whether the engine bpf may let the call pass without stopping it.  Such a call changes nothing,
 * and only its path has to be known.  Even such a call stops if its path begins at a descriptor, or
 * if its flags have a bit of syscalls_stops_with.
 */
bool syscalls_can_pass(const struct syscalls_call *call);
uint32_t syscalls_stops_with(const struct syscalls_call *call);
