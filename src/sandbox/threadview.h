/*
 * threadview - reads the memory of a waiting thread and its links in /proc, and finds its process.
 *
 * The thread belongs to another process, which may change its memory and its links while they are
 * read.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read up to len bytes, as far as the memory exists.  Returns the number of bytes that were read.
 * If this is less than len, errno is set.
 */
size_t threadview_memory(pid_t tid, uint64_t address, void *out, size_t len);
/* Read exactly len bytes.  Returns false if they cannot be read. */
bool threadview_bytes(pid_t tid, uint64_t address, void *out, size_t len);
/* Read a path into 'out' (PATH_MAX bytes).  Returns the length of the path, or -1. */
ssize_t threadview_text(pid_t tid, uint64_t address, char *out);
/*
 * Read a link in the thread's directory of /proc, such as "cwd" or "fd/3".  Returns its length, or
 * -errno.
 */
ssize_t threadview_link(pid_t tid, const char *name, char *out);
/*
 * As threadview_link, but with an open /proc.  This is for a process whose own /proc is that of a
 * sandbox.
 */
ssize_t threadview_link_in(int proc, pid_t tid, const char *name, char *out);
/*
 * Find the process of a thread.  *pid becomes its number in the PID namespace that proc shows.
 * *inside becomes its number one PID namespace further down, or the same as *pid if there is no
 * such namespace.  *pid and *inside become 0 if the thread has ended.
 */
void threadview_process(int proc, pid_t tid, pid_t *pid, pid_t *inside);
