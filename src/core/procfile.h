/*
 * procfile - reads and writes small text files whole: /proc, /sys, /etc.
 *
 * Files are opened with O_NONBLOCK, so that a FIFO instead of a file does not block the caller.  If
 * a file is larger than the caller's limit, the result is ERR_LIMIT.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

/* Append to 'out' the content of the file with this absolute path. */
int procfile_read(const char *path, size_t max, struct buf *out, struct err *err);
/* As procfile_read, but relative to a directory, without following links. */
int procfile_read_at(int dirfd, const char *path, size_t max, struct buf *out, struct err *err);
/* As procfile_read, but for an open file.  Messages name it as 'path'. */
int procfile_read_fd(int fd, const char *path, size_t max, struct buf *out, struct err *err);
/* Write a text with one call, as the files of /proc require. */
int procfile_write(const char *path, const char *text, struct err *err);
int procfile_write_at(int dirfd, const char *path, const char *text, struct err *err);
