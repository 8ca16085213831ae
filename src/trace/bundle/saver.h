/*
 * saver - a thread that saves contents: it copies files into blobs.parquet while the command runs.
 *
 * Jobs are done in the order in which they are added, and their numbers increase.  So to wait for
 * one job is to wait for all jobs before it.  The file state of a job belongs to the saver until
 * the job is done.  A content that cannot be saved becomes a reason and never an error, since the
 * command goes on.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "parquet/pqwrite.h"
#include "trace/bundle/filestate.h"
#include "trace/bundle/git.h"
#include "trace/bundle/reasons.h"

#define SAVER_PART ((uint64_t)1 << 30) /* bytes of a row, if a content needs several rows */
#define SAVER_CONTENT_MAX ((uint64_t)64 << 30)
#define SAVER_QUEUE_MAX 256 /* jobs; each holds a descriptor */

struct saver;

struct saver_job {
	int fd_take;      /* the file; the saver closes it */
	const char *path; /* for reasons */
	const char *key;  /* of the row; lives as long as the saver */
	struct filestate *state;
	bool digest; /* only make the digest of the content */
	/*
	 * If this object of the repository has the same bytes, they go to the spool file and not to
	 * the table.
	 */
	const struct git *git;
	const char *oid;
};

/*
 * dirfd is borrowed.  The table is made when the first row comes, without a name, on the file
 * system of dirfd.
 */
struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err);
/* Add a job.  Returns its number.  Waits while there are too many jobs. */
uint64_t saver_add(struct saver *saver, const struct saver_job *job);
bool saver_done(struct saver *saver, uint64_t number);
void saver_wait(struct saver *saver, uint64_t number);
void saver_wait_all(struct saver *saver);
/*
 * Returns an eventfd that is readable when a job named by saver_ask is done; -1 if saver is NULL.
 */
int saver_fd(const struct saver *saver);
void saver_ask(struct saver *saver, uint64_t number);

/* Put a spooled content into the table.  All jobs must be done. */
void saver_unspool(struct saver *saver, const char *key, struct filestate *state);
/* Complete the table, if it has rows.  If the result is negative, the table was removed. */
int saver_finish(struct saver *saver, struct err *err);
/* After saver_finish, give the table its name in the directory dirfd. */
int saver_link(struct saver *saver, int dirfd, struct err *err);
/*
 * After saver_finish, compute the digest of the table.  Returns false if there is no table, or it
 * cannot be read.
 */
bool saver_digest(const struct saver *saver, struct hash *hash);
/* After saver_finish, sync the table.  If the result is negative, the table was removed. */
int saver_sync(struct saver *saver, struct err *err);
/* After saver_finish, remove the table.  Returns whether there was one. */
bool saver_remove(struct saver *saver);
void saver_free(struct saver *saver);
