/*
 * manifest - writes manifest.json (strata-trace(1)).
 *
 * Text that is not UTF-8 is written as if it were Latin-1.  If the exact bytes are needed to read
 * the bundle, they are added in base64.
 */
#pragma once
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"
#include "trace/bundle/bundle.h"
#include "trace/bundle/reasons.h"
#include "trace/bundle/record.h"

/* The data that a manifest is written from.  All pointers are borrowed. */
struct manifest {
	char *const *command;
	int exit_status;
	const char *start_cwd;
	const char *engine;
	int64_t started_at, ended_at;
	const struct record *records; /* all records, linked by 'next' */
	struct record *const *files;  /* the records to be listed, sorted by path */
	size_t n_files;
	const struct repository *repositories; /* linked by 'next' */
	const struct process *processes;
	size_t n_processes;
	/* renamed files, and removed files, that have no record */
	const struct bundle_moved *moved;
	size_t n_moved;
	const struct str *lost;
	size_t n_lost;
	const struct reasons *reasons;
	const struct hash *blobs; /* digest of blobs.parquet; NULL: the bundle has no such file */
};

/* Write manifest.json in the directory dirfd, and sync it.  An older manifest.json is replaced. */
int manifest_write(int dirfd, const struct manifest *manifest, struct err *err);
/* Write a manifest to an open file, without a sync. */
int manifest_write_to(int fd, const struct manifest *manifest, struct err *err);

/* Append bytes as UTF-8.  Each byte becomes the character with the same number. */
void manifest_latin1(struct buf *out, struct str bytes);
/* Returns the exit status that shells report for a status of wait(2): 128+N for signal N. */
int manifest_exit_status(int status);
