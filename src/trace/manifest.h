/*
 * manifest - writing manifest.json (strata-trace(1)).
 *
 * Text that is not UTF-8 is written as its Latin-1 reading, with the bytes
 * in base64 beside it where they matter.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"
#include "trace/recorder.h"
#include "trace/tracees.h"

struct manifest {
	char *const *command;
	int exit_status;
	const char *start_cwd;
	const char *engine;
	int64_t started_at, ended_at;
	const struct recorder *recorder;
	struct tracees *tracees;
	const struct reasons *reasons;
	const struct hash *blobs; /* digest of blobs.parquet; NULL: there is none */
};

/* Make the file in dirfd, whole and synced. */
int manifest_write(int dirfd, const struct manifest *manifest, struct err *err);
/* The same to an open file; neither made nor synced. */
int manifest_write_to(int fd, const struct manifest *manifest, struct err *err);

/* Every byte as the character with its number. */
void manifest_latin1(struct buf *out, struct str bytes);
/* 128+N for a signal, as shells have it, of a status that wait gave. */
int manifest_exit_status(int status);
