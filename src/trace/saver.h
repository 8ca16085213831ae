/*
 * saver - keeps contents: a thread that reads files and writes them to
 * blobs.parquet while the traced program goes on.
 *
 * Jobs are done in the order they are given, each has a number, and numbers only
 * grow: waiting for one waits for all before it.  A job's file state belongs to
 * the saver until its number is done.  What cannot be kept becomes a reason, never
 * an error: the program runs on.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/git.h"
#include "parquet/pqwrite.h"
#include "trace/filestate.h"
#include "trace/reasons.h"

#define SAVER_PART ((uint64_t)1 << 30) /* what one row has of a content too large for one */
#define SAVER_CONTENT_MAX ((uint64_t)64 << 30)
#define SAVER_QUEUE_MAX 256 /* each holds a descriptor */

struct saver;

struct saver_job {
	int fd_take;      /* of the content; the saver closes it */
	const char *path; /* for reasons */
	const char *key;  /* of the blob; lives as long as the saver */
	struct filestate *state;
	bool digest; /* not the content but its digest will do */
	/* With a repository: no blob if oid names just these bytes; they are spooled instead. */
	const struct git *git;
	const char *oid;
};

/* The table is made on the file system of dirfd (borrowed) with its first row, without a name. */
struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err);
/* Returns the job's number; blocks while too many wait. */
uint64_t saver_add(struct saver *saver, const struct saver_job *job);
bool saver_done(struct saver *saver, uint64_t number);
void saver_wait(struct saver *saver, uint64_t number);
void saver_wait_all(struct saver *saver);
/* An eventfd: can be read once a number that was asked for is done.  -1 for NULL. */
int saver_fd(const struct saver *saver);
void saver_ask(struct saver *saver, uint64_t number);

/*
 * When all jobs are done: put a spooled content into the table after all.
 */
void saver_unspool(struct saver *saver, const char *key, struct filestate *state);
/* The table is whole, or (0 rows) not there.  Negative: it was removed. */
int saver_finish(struct saver *saver, struct err *err);
/* After saver_finish: give it its name in the directory dirfd. */
int saver_link(struct saver *saver, int dirfd, struct err *err);
/* After saver_finish: the digest of all of it.  False: there is none, or it cannot be read. */
bool saver_digest(const struct saver *saver, struct hash *hash);
/* After saver_finish: and on the disk.  Negative: it was removed. */
int saver_sync(struct saver *saver, struct err *err);
/* After saver_finish: there is none.  Whether there was. */
bool saver_remove(struct saver *saver);
void saver_free(struct saver *saver);
