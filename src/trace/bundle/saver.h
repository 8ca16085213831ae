/*
 * saver - a thread that copies the contents of files into blobs.parquet while the command runs.
 *
 * Jobs are done in the order in which they were added.  Each job gets a greater number than the job
 * before it.  So a caller that waits for one job also waits for all earlier jobs.  The file state
 * of a job belongs to the saver until the job is done.
 *
 * A failure to save a content is a reason why the bundle is incomplete (reasons.h).  Such a failure
 * is never an error, since the command must go on.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "parquet/pqwrite.h"
#include "trace/bundle/filestate.h"
#include "trace/bundle/git.h"
#include "trace/bundle/reasons.h"

/* maximum number of bytes in a row, for a content that needs several rows */
#define SAVER_PART ((uint64_t)1 << 30)
#define SAVER_CONTENT_MAX ((uint64_t)64 << 30)
#define SAVER_QUEUE_MAX 256 /* maximum number of waiting jobs, each of which holds a descriptor */

struct saver;

struct saver_job {
	int fd_take;      /* the open file, which the saver closes */
	const char *path; /* path of the file, for messages */
	const char *key;  /* key of the row; must live as long as the saver */
	struct filestate *state;
	bool digest; /* make only the digest of the content */
	/*
	 * If the object oid in this repository has the bytes of the file, the bytes are copied into
	 * the spool file instead of the table.
	 */
	const struct git *git;
	const char *oid;
};

/*
 * Returns a new saver.  dirfd is borrowed.  The table is a file without a name on the file system
 * of dirfd.  The saver makes it when the first row has to be written.
 */
struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err);
/*
 * Add a job.  If the queue is full, the function waits until another job is done.  Returns the
 * number of the job.
 */
uint64_t saver_add(struct saver *saver, const struct saver_job *job);
bool saver_done(struct saver *saver, uint64_t number);
void saver_wait(struct saver *saver, uint64_t number);
void saver_wait_all(struct saver *saver);
/*
 * saver_ask selects a job by its number.  saver_fd returns an eventfd that becomes readable when a
 * selected job is done.  If the saver is NULL, saver_fd returns -1.
 */
int saver_fd(const struct saver *saver);
void saver_ask(struct saver *saver, uint64_t number);

/* Copy a content from the spool file into the table.  To be called when all jobs are done. */
void saver_unspool(struct saver *saver, const char *key, struct filestate *state);
/* Complete the table if it has rows.  If the result is negative, the table has been removed. */
int saver_finish(struct saver *saver, struct err *err);
/* Give the table its name in the directory dirfd.  To be called after saver_finish. */
int saver_link(struct saver *saver, int dirfd, struct err *err);
/*
 * Compute the digest of the table.  Returns false if there is no table, or if it cannot be read.
 * To be called after saver_finish.
 */
bool saver_digest(const struct saver *saver, struct hash *hash);
/*
 * Sync the table.  If the result is negative, the table has been removed.  To be called after
 * saver_finish.
 */
int saver_sync(struct saver *saver, struct err *err);
/* Remove the table.  Returns true if there was a table.  To be called after saver_finish. */
bool saver_remove(struct saver *saver);
void saver_free(struct saver *saver);
