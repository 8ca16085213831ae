/*
 * saver - a thread that copies the contents of files into blobs.parquet while the command runs.
 *
 * Jobs are done in the order in which they are added, and their numbers increase.  So waiting for
 * one job means waiting for all jobs before it.  The file state of a job belongs to the saver until
 * the job is done.  The command goes on when a content cannot be saved, so such a failure becomes a
 * reason and is never an error.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "parquet/pqwrite.h"
#include "trace/bundle/filestate.h"
#include "trace/bundle/git.h"
#include "trace/bundle/reasons.h"

/* maximum bytes in a row of a content that needs several rows */
#define SAVER_PART ((uint64_t)1 << 30)
#define SAVER_CONTENT_MAX ((uint64_t)64 << 30)
#define SAVER_QUEUE_MAX 256 /* maximum number of waiting jobs, each of which holds a descriptor */

struct saver;

struct saver_job {
	int fd_take;      /* the open file, which the saver closes */
	const char *path; /* path of the file for the text of reasons */
	const char *key;  /* key of the row; must live as long as the saver */
	struct filestate *state;
	bool digest; /* make only the digest of the content */
	/*
	 * If the object oid of this repository has the bytes of the file, the bytes are kept in the
	 * spool file and not in the table.
	 */
	const struct git *git;
	const char *oid;
};

/*
 * Returns a new saver.  dirfd is borrowed.  The table is made for the first row, as a file without
 * a name on the file system of dirfd.
 */
struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err);
/* Add a job, after waiting for a free place in the queue.  Returns the number of the job. */
uint64_t saver_add(struct saver *saver, const struct saver_job *job);
bool saver_done(struct saver *saver, uint64_t number);
void saver_wait(struct saver *saver, uint64_t number);
void saver_wait_all(struct saver *saver);
/*
 * Returns an eventfd that becomes readable when a job that was named with saver_ask is done, or -1
 * if saver is NULL.
 */
int saver_fd(const struct saver *saver);
void saver_ask(struct saver *saver, uint64_t number);

/* Copy a content from the spool file into the table.  All jobs must be done. */
void saver_unspool(struct saver *saver, const char *key, struct filestate *state);
/* Complete the table if it has rows.  After a negative result the table has been removed. */
int saver_finish(struct saver *saver, struct err *err);
/* Call this after saver_finish.  Give the table its name in the directory dirfd. */
int saver_link(struct saver *saver, int dirfd, struct err *err);
/*
 * Call this after saver_finish.  Compute the digest of the table.  Returns false if there is no
 * table, or if it cannot be read.
 */
bool saver_digest(const struct saver *saver, struct hash *hash);
/*
 * Call this after saver_finish.  Sync the table.  After a negative result the table has been
 * removed.
 */
int saver_sync(struct saver *saver, struct err *err);
/* Call this after saver_finish.  Remove the table.  Returns true if there was one. */
bool saver_remove(struct saver *saver);
void saver_free(struct saver *saver);
