/*
 * threadview - the memory of a thread that waits, its links in /proc, and its process.
 *
 * The thread is one of another process, which may change what is read here while it is read.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read as much as there is.  Returns its length; less than len: errno is set. */
size_t threadview_memory(pid_t tid, uint64_t address, void *out, size_t len);
/* Read exactly len bytes. */
bool threadview_bytes(pid_t tid, uint64_t address, void *out, size_t len);
/* Read a path into out (PATH_MAX bytes).  Its length, or -1. */
ssize_t threadview_text(pid_t tid, uint64_t address, char *out);
/* Read a link in its directory of /proc, such as "cwd" or "fd/3": length, or -errno. */
ssize_t threadview_link(pid_t tid, const char *name, char *out);
/* The same in a /proc that is open, for a process whose own /proc is that of a sandbox. */
ssize_t threadview_link_in(int proc, pid_t tid, const char *name, char *out);
/*
 * The number of the process of a thread: in the PID namespace that proc is of, and in the one below
 * that; the same if it is in none.  0: the thread is gone.
 */
void threadview_process(int proc, pid_t tid, pid_t *pid, pid_t *inside);
