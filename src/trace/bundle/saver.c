#include "trace/bundle/saver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/at.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/workqueue.h"
#include "trace/bundle/bundle.h"
#include "trace/bundle/digest.h"

#define PIECE ((size_t)1 << 20)
/*
 * Contents are saved only while a part of the file system stays free: 1/RESERVE_PART of its size,
 * or RESERVE_MAX bytes if that is less.
 */
#define RESERVE_PART 20
#define RESERVE_MAX ((uint64_t)256 << 20)
#define STAT_BLOCK 512 /* number of bytes in a unit of st_blocks */

struct saver {
	int dirfd;
	enum pqwrite_codec codec;
	struct reasons *reasons;
	struct workqueue queue;
	/* these members belong to the thread of the queue until it has ended */
	int table_fd, spool_fd;
	struct pqwrite *table;
	uint64_t spool_size;
	struct rows {
		const char *key;
		unsigned part; /* number of the row that is being written, counted from 1 */
		/* numbers of bytes that are still to be written: to this row, and to later rows */
		uint64_t row, left;
	} rows;
	bool broken; /* writing has failed, and nothing more is written */
	char *named; /* temporary name of the table; NULL: the table has no name */
	int bundle;  /* directory in which the table was given its name, borrowed; -1: none yet */
	char *piece;
};

/* --- functions of the saver's thread --- */

static void stop_saving(struct saver *saver, const struct err *err)
{
	struct err ignored = { 0 };

	if (saver->table)
		(void)pqwrite_cancel(saver->table, &ignored);
	if (!saver->broken)
		reasons_add(saver->reasons, "contents could not be saved: %s", err->text);
	saver->broken = true;
}

/* Make a table with a temporary name, since this file system lacks O_TMPFILE. */
static int create_named(struct saver *saver, struct err *err)
{
	saver->named = mem_printf(".strata-blobs-%d", (int)getpid());
	return at_create(saver->dirfd, saver->named, O_RDWR | O_CREAT | O_EXCL, 0666, err);
}

static int open_table(struct saver *saver, struct err *err)
{
	if (saver->table)
		return 0;
	saver->table_fd = at_create_nameless(saver->dirfd, 0666);
	if (saver->table_fd < 0)
		saver->table_fd = create_named(saver, err);
	if (saver->table_fd < 0)
		return saver->table_fd;
	saver->table = pqwrite_open(saver->table_fd, saver->codec, err);
	return saver->table ? 0 : -(int)err->code;
}

/*
 * Pass the bytes of a file to the function 'sink', and hash them.  Returns 1 if the file has the
 * given size, 0 if the file is shorter or longer, and a negative error if reading or writing
 * failed.
 */
static int copy_pieces(struct saver *saver, int fd, uint64_t size, struct hash *sha256,
	int (*sink)(struct saver *saver, const void *bytes, size_t len, struct err *err),
	struct err *err)
{
	struct hash_stream *stream = hash_stream_new();
	uint64_t at = 0;
	ssize_t n;
	int r = 0;

	while ((n = at_pread_full(fd, saver->piece, PIECE, at)) > 0) {
		hash_stream_add(stream, saver->piece, (size_t)n);
		at += (uint64_t)n;
		r = at > size ? 0 : sink(saver, saver->piece, (size_t)n, err);
		if (r < 0 || at > size)
			break;
	}
	hash_stream_finish(stream, sha256);
	if (n < 0)
		return err_number(err, (int)-n, "read");
	return r < 0 ? r : at == size;
}

/* Begin the next row for the content. */
static int begin_row(struct saver *saver, struct err *err)
{
	struct rows *rows = &saver->rows;

	rows->part++;
	rows->row = rows->left;
	if (rows->part > 1 || rows->left > PQWRITE_CONTENT_MAX)
		rows->row = rows->left < SAVER_PART ? rows->left : SAVER_PART;
	rows->left -= rows->row;
	if (rows->part == 1)
		return pqwrite_begin(saver->table, str_of(rows->key), rows->row, err);
	owned_mem char *key = mem_printf(BUNDLE_PART_KEY, rows->key, rows->part);
	return pqwrite_begin(saver->table, str_of(key), rows->row, err);
}

static int put_piece(struct saver *saver, const char *bytes, size_t len, struct err *err)
{
	struct rows *rows = &saver->rows;
	int r = 0;

	while (len && r >= 0) {
		size_t part = len < rows->row ? len : (size_t)rows->row;

		r = pqwrite_piece(saver->table, bytes, part, err);
		bytes += part;
		len -= part;
		rows->row -= part;
		if (r >= 0 && !rows->row && rows->left) {
			r = pqwrite_end(saver->table, err);
			if (r >= 0)
				r = begin_row(saver, err);
		}
	}
	return r;
}

static int write_to_table(struct saver *saver, const void *bytes, size_t len, struct err *err)
{
	int r = put_piece(saver, bytes, len, err);

	if (r < 0)
		stop_saving(saver, err);
	return r;
}

static int write_to_spool(struct saver *saver, const void *bytes, size_t len, struct err *err)
{
	int r = at_pwrite_all(saver->spool_fd, bytes, len, saver->spool_size);

	if (r < 0)
		return err_number(err, -r, "write a spool file");
	saver->spool_size += len;
	return 0;
}

static int changed_error(struct err *err)
{
	return err_set(err, ERR_BUSY, "it was changed after it was examined");
}

static int save_large(struct saver *saver, const struct saver_job *job, struct err *err)
{
	uint64_t size = job->state->size;

	if (size > SAVER_CONTENT_MAX)
		return err_set(err, ERR_LIMIT, "it is larger than 64 GiB");
	/*
	 * Set a mark only for a content with several rows, because a mark ends a row group of the
	 * table.
	 */
	bool several_rows = size > PQWRITE_CONTENT_MAX;
	struct pqwrite_mark mark;
	int r = several_rows ? pqwrite_set_mark(saver->table, &mark, err) : 0;
	if (r < 0) {
		stop_saving(saver, err);
		return r;
	}
	saver->rows = (struct rows){ .key = job->key, .left = size };
	r = begin_row(saver, err);
	if (r < 0)
		return r;
	r = copy_pieces(saver, job->fd_take, size, &job->state->sha256, write_to_table, err);
	if (r > 0 && !filestate_is(job->fd_take, job->state))
		r = 0;
	if (r <= 0) {
		struct err second = { 0 };

		if ((several_rows ? pqwrite_return(saver->table, &mark, &second)
				  : pqwrite_cancel(saver->table, &second)) < 0)
			stop_saving(saver, &second);
		return r < 0 ? r : changed_error(err);
	}
	r = pqwrite_end(saver->table, err);
	if (r < 0)
		stop_saving(saver, err);
	job->state->parts = saver->rows.part;
	return r;
}

static int save_small(struct saver *saver, const struct saver_job *job, size_t len, struct err *err)
{
	if (len != job->state->size || !filestate_is(job->fd_take, job->state))
		return changed_error(err);
	hash_of(saver->piece, len, &job->state->sha256);
	int r = pqwrite_row(saver->table, str_of(job->key), saver->piece, len, err);
	if (r < 0)
		stop_saving(saver, err);
	return r;
}

static int save_blob(struct saver *saver, const struct saver_job *job, struct err *err)
{
	ssize_t n = at_pread_full(job->fd_take, saver->piece, PIECE, 0);

	if (n < 0)
		return err_number(err, (int)-n, "read");
	int r = open_table(saver, err);
	if (r < 0) {
		stop_saving(saver, err);
		return r;
	}
	r = (size_t)n < PIECE ? save_small(saver, job, (size_t)n, err)
			      : save_large(saver, job, err);
	if (r < 0)
		return r;
	job->state->blob = job->key;
	job->state->content = FILESTATE_BLOB;
	job->state->hashed = true;
	return 0;
}

/*
 * Copy a content into the spool file.  A git repository has the same bytes now, but the command may
 * remove the repository later.  So the copy is kept until the command has ended.
 */
static int save_in_spool(struct saver *saver, const struct saver_job *job, struct err *err)
{
	uint64_t start = saver->spool_size;

	if (saver->spool_fd < 0)
		saver->spool_fd = at_tmpfile(saver->dirfd, err);
	if (saver->spool_fd < 0)
		return saver->spool_fd;
	int r = copy_pieces(
		saver, job->fd_take, job->state->size, &job->state->sha256, write_to_spool, err);
	if (r <= 0) {
		saver->spool_size = start;
		return r < 0 ? r : changed_error(err);
	}
	job->state->spooled = start + 1;
	job->state->content = FILESTATE_IN_GIT;
	job->state->hashed = true;
	return 0;
}

static int save_digest(const struct saver_job *job, struct err *err)
{
	struct filestate *state = job->state;
	bool holes = digest_has_holes(job->fd_take);

	errno = holes ? -digest_blocks(job->fd_take, &state->blocks)
		      : -digest_fd(job->fd_take, &state->sha256);
	if (errno)
		return err_errno(err, "read");
	if (!filestate_is(job->fd_take, state))
		return changed_error(err);
	state->blocks_hashed = holes;
	state->hashed = !holes;
	state->content = FILESTATE_DIGESTED;
	return 0;
}

/* Check that the file system will have enough free space left after a job. */
static int check_room(struct saver *saver, const struct saver_job *job, struct err *err)
{
	struct statvfs room;
	struct stat st;

	if (fstatvfs(saver->dirfd, &room) < 0 || fstat(job->fd_take, &st) < 0)
		return 0;
	uint64_t all = (uint64_t)room.f_blocks * room.f_frsize;
	uint64_t reserve = all / RESERVE_PART < RESERVE_MAX ? all / RESERVE_PART : RESERVE_MAX;
	uint64_t data = (uint64_t)st.st_blocks * STAT_BLOCK;
	if (data > job->state->size)
		data = job->state->size;
	if ((uint64_t)room.f_bavail * room.f_frsize >= reserve + data)
		return 0;
	char text[16];
	return err_set(err, ERR_LIMIT,
		"the last %s of free space where the bundle is are left to others",
		text_size(reserve, text));
}

static void save_content(struct saver *saver, const struct saver_job *job)
{
	struct err err = { 0 };

	/* Forget an earlier digest of the file, since the digest is computed again. */
	job->state->hashed = job->state->blocks_hashed = false;
	if (job->digest) {
		if (save_digest(job, &err) < 0) {
			job->state->content = FILESTATE_UNSAVABLE;
			job->state->changed = err.code == ERR_BUSY;
			reasons_add(saver->reasons, "the content of '%s' was not read: %s",
				job->path, err.text);
		}
		return;
	}
	if (job->git && git_is_content(job->git, job->oid, job->fd_take, &err) > 0 &&
		save_in_spool(saver, job, &err) == 0)
		return;
	if (!saver->broken && check_room(saver, job, &err) >= 0 && save_blob(saver, job, &err) >= 0)
		return;
	job->state->content = FILESTATE_UNSAVABLE;
	job->state->changed = err.code == ERR_BUSY;
	if (!saver->broken)
		reasons_add(saver->reasons, "the content of '%s' was not saved: %s", job->path,
			err.text);
}

static void run_job(void *arg, const void *item)
{
	struct saver *saver = arg;
	struct saver_job job = *(const struct saver_job *)item;

	save_content(saver, &job);
	close_fd(&job.fd_take);
}

/* --- functions for other threads --- */

struct saver *saver_new(
	int dirfd, enum pqwrite_codec codec, struct reasons *reasons, struct err *err)
{
	struct saver *saver = mem_zalloc(sizeof(*saver));

	saver->dirfd = dirfd;
	saver->codec = codec;
	saver->reasons = reasons;
	saver->table_fd = saver->spool_fd = saver->bundle = -1;
	saver->piece = mem_alloc(PIECE);
	workqueue_init(&saver->queue, run_job, saver);
	saver->queue.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (saver->queue.event < 0)
		err_errno(err, "make an event descriptor");
	else if (workqueue_start(&saver->queue, err) == 0)
		return saver;
	saver_free(saver);
	return NULL;
}

uint64_t saver_add(struct saver *saver, const struct saver_job *job)
{
	job->state->content = FILESTATE_QUEUED;
	uint64_t number = workqueue_add(&saver->queue, job, sizeof(*job), SIZE_MAX);
	if (number > SAVER_QUEUE_MAX)
		workqueue_wait(&saver->queue, number - SAVER_QUEUE_MAX);
	return number;
}

bool saver_done(struct saver *saver, uint64_t number)
{
	return workqueue_is_done(&saver->queue, number);
}

void saver_wait(struct saver *saver, uint64_t number)
{
	workqueue_wait(&saver->queue, number);
}

void saver_wait_all(struct saver *saver)
{
	workqueue_wait(&saver->queue, workqueue_last(&saver->queue));
}

int saver_fd(const struct saver *saver)
{
	return saver ? saver->queue.event : -1;
}

void saver_ask(struct saver *saver, uint64_t number)
{
	workqueue_ask(&saver->queue, number);
}

static int copy_from_spool(
	struct saver *saver, const char *key, struct filestate *state, struct err *err)
{
	uint64_t at = state->spooled - 1, left = state->size;
	int r = open_table(saver, err);

	saver->rows = (struct rows){ .key = key, .left = left };
	if (r >= 0)
		r = begin_row(saver, err);
	while (left && r >= 0) {
		size_t len = left < PIECE ? (size_t)left : PIECE;

		if (at_pread_full(saver->spool_fd, saver->piece, len, at) != (ssize_t)len)
			r = err_set(err, ERR_CORRUPT, "the spool file is too short");
		else
			r = put_piece(saver, saver->piece, len, err);
		at += len;
		left -= len;
	}
	return r < 0 ? r : pqwrite_end(saver->table, err);
}

void saver_unspool(struct saver *saver, const char *key, struct filestate *state)
{
	struct err err = { 0 };

	workqueue_stop(&saver->queue);
	if (saver->broken || copy_from_spool(saver, key, state, &err) < 0) {
		stop_saving(saver, &err);
		state->content = FILESTATE_UNSAVABLE;
		return;
	}
	state->content = FILESTATE_BLOB;
	state->blob = key;
	state->parts = saver->rows.part;
}

static void remove_named(struct saver *saver)
{
	if (saver->named)
		(void)unlinkat(saver->dirfd, saver->named, 0);
	free(saver->named);
	saver->named = NULL;
}

int saver_link(struct saver *saver, int dirfd, struct err *err)
{
	if (!saver->table)
		return 0;
	errno = saver->named
			? renameat(saver->dirfd, saver->named, dirfd, BUNDLE_BLOBS) < 0 ? errno : 0
			: -at_give_name(saver->table_fd, dirfd, BUNDLE_BLOBS);
	if (errno) {
		err_errno(err, "put the contents into the bundle");
		(void)saver_remove(saver);
		return -(int)err->code;
	}
	free(saver->named);
	saver->named = NULL;
	saver->bundle = dirfd;
	return 0;
}

/* Remove the table.  On a full disk, this makes room for the manifest. */
bool saver_remove(struct saver *saver)
{
	struct err ignored = { 0 };

	if (!saver->table)
		return false;
	if (saver->bundle >= 0)
		(void)at_unlink(saver->bundle, BUNDLE_BLOBS, 0, &ignored);
	remove_named(saver);
	pqwrite_close(saver->table);
	saver->table = NULL;
	close_fd(&saver->table_fd);
	return true;
}

int saver_finish(struct saver *saver, struct err *err)
{
	workqueue_stop(&saver->queue);
	if (!saver->table)
		return 0;
	int r = pqwrite_finish(saver->table, err);
	if (r < 0)
		(void)saver_remove(saver);
	else
		/* zeros mean the whole file, from its start to its end */
		at_sync_soon(saver->table_fd, 0, 0);
	return r;
}

bool saver_digest(const struct saver *saver, struct hash *hash)
{
	return saver->table && digest_fd(saver->table_fd, hash) == 0;
}

int saver_sync(struct saver *saver, struct err *err)
{
	int r = saver->table ? at_fsync(saver->table_fd, BUNDLE_BLOBS, err) : 0;

	if (r < 0)
		(void)saver_remove(saver);
	return r;
}

void saver_free(struct saver *saver)
{
	if (!saver)
		return;
	workqueue_release(&saver->queue);
	pqwrite_close(saver->table);
	remove_named(saver);
	close_fd(&saver->table_fd);
	close_fd(&saver->spool_fd);
	close_fd(&saver->queue.event);
	free(saver->piece);
	free(saver);
}
