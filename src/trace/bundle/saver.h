/*
 * saver - saves contents: a thread reads files and writes them to blobs.parquet while the command
 * runs.
 *
 * Jobs are done in the order in which they are given.  Each job has a number, and numbers only
 * grow, so waiting for one waits for all before it.  The file state of a job belongs to the saver
 * until the job is done.  A content that cannot be saved becomes a reason and never an error, since
 * the command goes on.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "parquet/pqwrite.h"
#include "trace/bundle/filestate.h"
#include "trace/bundle/git.h"
#include "trace/bundle/reasons.h"

#define SAVER_PART                                                                                 \
	((uint64_t)1 << 30) /* bytes in a row of a content that is too large for one row */
#define SAVER_CONTENT_MAX ((uint64_t)64 << 30)
#define SAVER_QUEUE_MAX 256 /* jobs; each holds a descriptor */

struct saver;

struct saver_job {
	int fd_take;      /* the file; the saver closes it */
	const char *path; /* for reasons */
	const char *key;  /* of the row; lives as long as the saver */
	struct filestate *state;
	bool digest; /* only make the digest of the content */
	/* If the object oid of the repository has the same bytes, spool them instead of saving
	 * them. */
	const struct git *git;
	const char *oid;
};

/* The table is made with its first row, without a name, on the file system of dirfd (borrowed). */
struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err);
/* Returns the job's number.  Waits while there are too many jobs. */
uint64_t saver_add(struct saver *saver, const struct saver_job *job);
bool saver_done(struct saver *saver, uint64_t number);
void saver_wait(struct saver *saver, uint64_t number);
void saver_wait_all(struct saver *saver);
/* An eventfd that is readable when a job that was asked for is done; -1 for NULL. */
int saver_fd(const struct saver *saver);
void saver_ask(struct saver *saver, uint64_t number);

/* When all jobs are done: put a spooled content into the table. */
void saver_unspool(struct saver *saver, const char *key, struct filestate *state);
/* Complete the table; without rows there is none.  Negative: the table was removed. */
int saver_finish(struct saver *saver, struct err *err);
/* After saver_finish: give the table its name in the directory dirfd. */
int saver_link(struct saver *saver, int dirfd, struct err *err);
/* After saver_finish: the digest of the table.  False: there is none, or it cannot be read. */
bool saver_digest(const struct saver *saver, struct hash *hash);
/* After saver_finish: sync the table.  Negative: it was removed. */
int saver_sync(struct saver *saver, struct err *err);
/* After saver_finish: remove the table.  Returns whether there was one. */
bool saver_remove(struct saver *saver);
void saver_free(struct saver *saver);
