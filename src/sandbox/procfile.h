/*
 * procfile - small text files read or written whole: /proc, /sys, /etc.
 *
 * They are opened O_NONBLOCK, so that a FIFO in their place hangs nobody, and a
 * file larger than the caller's limit is ERR_LIMIT.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

/* The whole of a file by its absolute path, appended to out; ERR_NOT_FOUND. */
int procfile_read(const char *path, size_t max, struct buf *out, struct err *err);
/* The same relative to a directory, without following links. */
int procfile_read_at(int dirfd, const char *path, size_t max, struct buf *out, struct err *err);
/* All of text in one write, as the files of /proc want it. */
int procfile_write(const char *path, const char *text, struct err *err);
int procfile_write_at(int dirfd, const char *path, const char *text, struct err *err);
