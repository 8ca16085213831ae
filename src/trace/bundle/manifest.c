#include "trace/bundle/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/json.h"
#include "core/own.h"
#include "core/par.h"
#include "core/text.h"
#include "core/when.h"
#include "trace/bundle/digest.h"

/* approximate number of bytes of text in a chunk; one thread writes the whole chunk */
#define CHUNK_BYTES ((size_t)128 << 10)
#define SEND_BYTES ((size_t)1 << 20)
#define STATE_BYTES 256 /* estimated bytes of a state in the text, without names and attributes */
#define PROCESS_BYTES 8
#define ALONE_MAX 500 /* with up to this many files, one thread writes all of them */
#define CHUNKS 8      /* maximum number of chunks in memory at the same time */

void manifest_latin1(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		uint8_t byte = (uint8_t)bytes.ptr[i];

		if (byte < 0x80) {
			buf_addc(out, (char)byte);
			continue;
		}
		buf_addc(out, (char)(0xc0 | byte >> 6));
		buf_addc(out, (char)(0x80 | (byte & 0x3f)));
	}
}

int manifest_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void write_base64(struct json *out, const char *key, struct str bytes)
{
	owned(buf_release) struct buf coded = BUF_INIT;

	text_base64(&coded, bytes);
	json_str(out, key, (struct str){ coded.data ?: "", coded.len });
}

/*
 * Write a member with a text.  If the text is not UTF-8, a second member, called bytes_key, gets
 * its base64.  If bytes_key is NULL, the base64 is left out.
 */
static void write_text(struct json *out, const char *key, const char *bytes_key, struct str text)
{
	owned(buf_release) struct buf other = BUF_INIT;

	if (text_is_utf8(text)) {
		json_str(out, key, text);
		return;
	}
	manifest_latin1(&other, text);
	json_str(out, key, (struct str){ other.data, other.len });
	if (bytes_key)
		write_base64(out, bytes_key, text);
}

static struct record *next_in_ring(struct record *record, bool after)
{
	return record_state(record, after)->next_name;
}

/* Write the other names of the file in the state before or after the command. */
static void write_links(struct json *out, struct record *record, bool after)
{
	struct record *first = next_in_ring(record, after);
	bool utf8 = true;

	if (!first)
		return;
	json_open(out, "links", '[');
	for (struct record *other = first; other != record; other = next_in_ring(other, after)) {
		utf8 = utf8 && text_is_utf8(other->path);
		write_text(out, NULL, NULL, other->path);
	}
	json_close(out);
	if (utf8)
		return;
	json_open(out, "links_bytes", '[');
	for (struct record *other = first; other != record; other = next_in_ring(other, after))
		write_base64(out, NULL, other->path);
	json_close(out);
}

/*
 * Write a part of the attributes.  If 'coded' is set, these are the attributes whose names are not
 * UTF-8.  Otherwise these are all other attributes.
 */
static void write_xattrs(struct json *out, const struct filestate *state, bool coded)
{
	owned(buf_release) struct buf name = BUF_INIT, value = BUF_INIT;
	size_t written = 0;

	for (size_t i = 0; i < state->n_xattrs; i++) {
		const struct attr *xattr = &state->xattrs[i];

		if (text_is_utf8(str_of(xattr->name)) == coded)
			continue;
		if (!written++)
			json_open(out, coded ? "xattrs_bytes" : "xattrs", '{');
		buf_clear(&name);
		buf_clear(&value);
		if (coded)
			text_base64(&name, str_of(xattr->name));
		else
			buf_adds(&name, xattr->name);
		text_base64(&value, xattr->value);
		json_str(out, name.data, (struct str){ value.data, value.len });
	}
	if (written)
		json_close(out);
}

static void write_state(struct json *out, struct record *record, bool after, bool tombstone)
{
	const struct filestate *state = record_state(record, after);
	const char *key = after ? "after" : "before";
	char hex[HASH_HEX];

	json_open(out, key, '{');
	json_bool(out, "exists", state->exists);
	if (tombstone)
		json_bool(out, "tombstone", true);
	if (state->exists) {
		json_text(out, "type", bundle_type_name(bundle_type_of(state->mode)));
		json_uint(out, "mode", state->mode);
		json_int(out, "mtime", when_seconds(state->mtime));
		json_int(out, "mtime_ns", state->mtime);
		json_uint(out, "size", state->size);
		json_uint(out, "uid", state->uid);
		json_uint(out, "gid", state->gid);
		json_uint(out, "nlink", state->nlink);
		if (S_ISCHR(state->mode) || S_ISBLK(state->mode)) {
			json_uint(out, "major", major(state->rdev));
			json_uint(out, "minor", minor(state->rdev));
			json_uint(out, "rdev", state->rdev);
		}
		if (state->target)
			write_text(out, "target", "target_bytes", str_of(state->target));
		if (state->hashed)
			json_text(out, "sha256", hash_hex(&state->sha256, hex));
		if (state->blocks_hashed)
			json_text(out, "sha256_blocks", hash_hex(&state->blocks, hex));
		if (state->blob)
			json_text(out, "blob", state->blob);
		if (state->blob && state->parts > 1)
			json_uint(out, "blob_parts", state->parts);
		write_xattrs(out, state, false);
		write_xattrs(out, state, true);
		write_links(out, record, after);
	}
	json_close(out);
}

static bool is_same_text(const struct filestate *a, const struct filestate *b)
{
	return filestate_same(a, b) && a->size == b->size && a->nlink == b->nlink &&
	       a->blocks_hashed == b->blocks_hashed && hash_eq(&a->blocks, &b->blocks) &&
	       a->hashed == b->hashed && hash_eq(&a->sha256, &b->sha256) && a->blob == b->blob &&
	       a->parts == b->parts && !a->next_name && !b->next_name;
}

static void write_git(struct json *out, const struct record *record)
{
	const struct repository *repo = record->repository;

	json_open(out, "git", '{');
	json_bool(out, "in_repo", true);
	write_text(out, "root", "root_bytes", repo->root);
	json_text(out, "head", *git_head(repo->git) ? git_head(repo->git) : NULL);
	write_text(out, "relative_path", NULL, record_git_path(record));
	json_bool(out, "tracked", record->git.tracked);
	json_bool(out, "dirty", record->git.dirty);
	json_bool(out, "ignored", record->git.ignored);
	if (record->git.oid[0])
		json_text(out, "oid", record->git.oid);
	json_close(out);
}

static void write_record(struct json *out, struct record *record)
{
	bool gone = !record->after.exists &&
		    (record->before.exists || record->ops & (BUNDLE_DELETE | BUNDLE_RENAME));

	json_open(out, NULL, '{');
	out->pretty = false; /* all members of a file are on one line */
	write_text(out, "path", "path_bytes", record->path);
	json_bits(out, "operations", record->ops, BUNDLE_OPERATIONS, bundle_operation_name);
	write_state(out, record, false, false);
	if (!gone && is_same_text(&record->before, &record->after))
		json_again(out, "after");
	else
		write_state(out, record, true, gone);
	if (record->repository)
		write_git(out, record);
	if (record->changed != RECORD_UNCHANGED)
		json_text(out, "changed_by",
			record->changed == RECORD_BY_COMMAND ? "command" : "other");
	if (record->contested)
		json_bool(out, "contested", true);
	if (record->inherited)
		json_bool(out, "inherited", true);
	json_open(out, "processes", '[');
	for (size_t i = 0; i < record->n_processes; i++)
		json_uint(out, NULL, record->processes[i]);
	json_close(out);
	json_close(out);
	out->pretty = true;
}

static void write_repositories(struct json *out, const struct repository *repositories)
{
	json_open(out, "git_repositories", '[');
	for (const struct repository *repo = repositories; repo; repo = repo->next) {
		if (!repo->named)
			continue;
		json_open(out, NULL, '{');
		write_text(out, "root", "root_bytes", repo->root);
		json_text(out, "head", *git_head(repo->git) ? git_head(repo->git) : NULL);
		/*
		 * Record the directory of the objects, too: it still exists when the work tree has
		 * been removed.
		 */
		write_text(out, "common", "common_bytes", str_of(git_common(repo->git)));
		json_close(out);
	}
	json_close(out);
}

static void write_processes(struct json *out, const struct manifest *manifest)
{
	json_open(out, "processes", '[');
	for (size_t i = 0; i < manifest->n_processes; i++) {
		const struct process *process = &manifest->processes[i];

		json_open(out, NULL, '{');
		json_int(out, "pid", process->pid);
		json_int(out, "ppid", process->ppid);
		json_open(out, "argv", '[');
		for (size_t at = 0; at < process->argv.len;) {
			struct str word = str_of(process->argv.data + at);

			write_text(out, NULL, NULL, word);
			at += word.len + 1;
		}
		json_close(out);
		if (process->argv_cut)
			json_bool(out, "argv_cut", true);
		json_number(out, "exit_status", process->status >= 0,
			manifest_exit_status(process->status));
		json_close(out);
	}
	json_close(out);
}

/* Write the lists of renamed and removed files that have no record. */
static void write_unrecorded(struct json *out, const struct manifest *manifest)
{
	json_open(out, "moved", '[');
	for (size_t i = 0; i < manifest->n_moved; i++) {
		const struct bundle_moved *move = &manifest->moved[i];

		json_open(out, NULL, '{');
		write_text(out, "from", "from_bytes", move->from);
		write_text(out, "to", "to_bytes", move->to);
		json_uint(out, "ino", move->ino);
		json_close(out);
	}
	json_close(out);
	json_open(out, "lost", '[');
	for (size_t i = 0; i < manifest->n_lost; i++) {
		json_open(out, NULL, '{');
		write_text(out, "path", "path_bytes", manifest->lost[i]);
		json_close(out);
	}
	json_close(out);
}

static void write_reasons(struct json *out, const struct reasons *reasons)
{
	char more[64];

	json_bool(out, "complete", !reasons_count(reasons));
	json_open(out, "incomplete_reasons", '[');
	for (size_t i = 0; i < reasons_count(reasons); i++)
		write_text(out, NULL, NULL, str_of(reasons_get(reasons, i)));
	if (reasons_left_out(reasons)) {
		snprintf(more, sizeof(more), "and %zu more", reasons_left_out(reasons));
		json_text(out, NULL, more);
	}
	json_close(out);
}

/* --- the files, in chunks that threads write --- */

struct chunk {
	const struct manifest *manifest;
	size_t from, to;
	struct json out;
	_Atomic bool written;
};

static void write_chunk(void *arg)
{
	struct chunk *chunk = arg;

	for (size_t i = chunk->from; i < chunk->to; i++)
		write_record(&chunk->out, chunk->manifest->files[i]);
	atomic_store_explicit(&chunk->written, true, memory_order_release);
}

static size_t state_bytes(const struct filestate *state)
{
	size_t bytes = STATE_BYTES + state->names_bytes;

	for (size_t i = 0; i < state->n_xattrs; i++)
		bytes += 2 * state->xattrs[i].value.len;
	return bytes;
}

static size_t record_bytes(const struct record *record)
{
	return 2 * record->path.len + PROCESS_BYTES * record->n_processes +
	       state_bytes(&record->before) + state_bytes(&record->after);
}

/*
 * Returns the end of the chunk that begins with the file at the index 'from'.  A chunk ends when
 * its text has about CHUNK_BYTES.  The number of files is not used as the measure, since the text
 * of one file may be long: the file may have thousands of names, or every process of a large build
 * may have read it.
 */
static size_t chunk_end(const struct manifest *manifest, size_t from)
{
	size_t to = from, bytes = 0;

	while (to < manifest->n_files && bytes < CHUNK_BYTES)
		bytes += record_bytes(manifest->files[to++]);
	return to;
}

static size_t begin_chunk(
	struct par *par, struct chunk *chunk, size_t from, const struct json *whole)
{
	chunk->from = from;
	chunk->to = chunk_end(chunk->manifest, from);
	chunk->written = false;
	json_part(&chunk->out, whole, from == 0);
	par_submit(par, write_chunk, chunk);
	return chunk->to;
}

/*
 * Write the files with a thread for each processor.  All processors are free for this, since the
 * command has ended.
 */
static void write_files(struct json *out, const struct manifest *manifest)
{
	size_t n = manifest->n_files, at = 0, begun = 0;
	struct par *par = par_new(n > ALONE_MAX ? par_cpus() : 0);
	struct chunk chunks[CHUNKS];

	json_open(out, "files", '[');
	for (size_t i = 0; i < CHUNKS; i++)
		chunks[i] = (struct chunk){ .manifest = manifest, .out.out = BUF_INIT };
	for (size_t taken = 0; at < n || taken < begun; taken++) {
		struct chunk *chunk = &chunks[taken % CHUNKS];

		while (at < n && begun - taken < CHUNKS)
			at = begin_chunk(par, &chunks[begun++ % CHUNKS], at, out);
		while (!atomic_load_explicit(&chunk->written, memory_order_acquire))
			par_wait_some(par);
		json_add_part(out, &chunk->out);
	}
	par_free(par);
	for (size_t i = 0; i < CHUNKS; i++)
		json_release(&chunks[i].out);
	json_close(out);
}

/*
 * Write the list kept_blobs: contents of files that are not listed, because their state after the
 * command is not known.
 */
static void write_kept(struct json *out, const struct manifest *manifest)
{
	json_open(out, "kept_blobs", '[');
	for (const struct record *record = manifest->records; record; record = record->next) {
		const struct filestate *before = &record->before;

		if (record->listed || !before->blob || before->content != FILESTATE_BLOB)
			continue;
		json_open(out, NULL, '{');
		json_text(out, "blob", before->blob);
		json_uint(out, "blob_parts", before->parts > 1 ? before->parts : 1);
		json_close(out);
	}
	json_close(out);
}

/* --- the whole manifest --- */

static void write_command(struct json *out, char *const *command)
{
	bool utf8 = true;

	json_open(out, "command", '[');
	for (char *const *word = command; *word; word++) {
		utf8 = utf8 && text_is_utf8(str_of(*word));
		write_text(out, NULL, NULL, str_of(*word));
	}
	json_close(out);
	if (utf8)
		return;
	json_open(out, "command_bytes", '[');
	for (char *const *word = command; *word; word++)
		write_base64(out, NULL, str_of(*word));
	json_close(out);
}

static void write_all(struct json *out, const struct manifest *manifest)
{
	char time[40], hex[HASH_HEX];

	json_open(out, NULL, '{');
	json_uint(out, "format_version", BUNDLE_VERSION);
	/*
	 * Readers know by this member that a digest follows.  If the digest is missing, the
	 * manifest is damaged.
	 */
	json_text(out, "digest_of", "manifest.json with zeros as its digest");
	json_text(out, "digest", DIGEST_ZEROS);
	if (manifest->blobs)
		json_text(out, "blobs_sha256", hash_hex(manifest->blobs, hex));
	write_command(out, manifest->command);
	json_int(out, "exit_status", manifest->exit_status);
	write_text(out, "start_cwd", "start_cwd_bytes", str_of(manifest->start_cwd));
	json_uint(out, "uid", geteuid());
	json_uint(out, "gid", getegid());
	json_text(out, "engine", manifest->engine);
	json_text(out, "started_at", when_iso(manifest->started_at, time));
	json_text(out, "ended_at", when_iso(manifest->ended_at, time));
	write_reasons(out, manifest->reasons);
	write_repositories(out, manifest->repositories);
	write_unrecorded(out, manifest);
	write_kept(out, manifest);
	write_processes(out, manifest);
	write_files(out, manifest);
	json_close(out);
}

struct target {
	int fd;
	/*
	 * 'written' is the number of bytes written to the file, and 'sent' is how many of these the
	 * disk was asked to write
	 */
	uint64_t written, sent;
	int error; /* errno of the first failed write; 0: none */
	struct hash_stream *hash;
	char first[DIGEST_FIRST]; /* copy of the first bytes of the file */
};

static void keep_first(struct target *target, const char *bytes, size_t len)
{
	if (target->written >= DIGEST_FIRST)
		return;
	size_t room = DIGEST_FIRST - target->written;

	memcpy(target->first + target->written, bytes, len < room ? len : room);
}

static int write_out(void *arg, const char *bytes, size_t len)
{
	struct target *target = arg;
	int r = at_write_all(target->fd, bytes, len);

	if (r < 0) {
		target->error = -r;
		return r;
	}
	hash_stream_add(target->hash, bytes, len);
	keep_first(target, bytes, len);
	target->written += len;
	/*
	 * Ask the disk to write the bytes that have been gathered, so that the sync at the end is
	 * short.  Requests for smaller pieces would cost more time.
	 */
	if (target->written - target->sent >= SEND_BYTES) {
		at_sync_soon(target->fd, target->sent, target->written - target->sent);
		target->sent = target->written;
	}
	return 0;
}

int manifest_write(int dirfd, const struct manifest *manifest, struct err *err)
{
	struct err ignored = { 0 };

	(void)at_unlink(dirfd, BUNDLE_MANIFEST, 0, &ignored);
	owned_fd int fd = at_create(dirfd, BUNDLE_MANIFEST, O_WRONLY | O_CREAT | O_EXCL, 0666, err);
	if (fd < 0)
		return fd;
	int r = manifest_write_to(fd, manifest, err);
	return r < 0 ? r : at_fsync(fd, BUNDLE_MANIFEST, err);
}

/* Write the digest over the zeros that hold its place in the manifest. */
static int put_digest(struct target *target, const struct hash *hash)
{
	struct str first = { target->first, DIGEST_FIRST };
	char hex[HASH_HEX];
	size_t at = 0;

	if (!digest_find(first, str_of(DIGEST_ZEROS), &at))
		return -EIO;
	return at_pwrite_all(target->fd, hash_hex(hash, hex), HASH_HEX - 1, at);
}

int manifest_write_to(int fd, const struct manifest *manifest, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	struct target target = { .fd = fd, .hash = hash_stream_new() };
	struct hash hash;

	out.sink = write_out;
	out.arg = &target;
	out.pretty = true;
	write_all(&out, manifest);
	int r = json_end(&out);
	hash_stream_finish(target.hash, &hash);
	if (r == 0)
		target.error = -put_digest(&target, &hash);
	if (r == 0 && !target.error)
		return 0;
	errno = target.error;
	if (errno)
		return err_errno(err, "write '%s'", BUNDLE_MANIFEST);
	return err_set(
		err, ERR_LIMIT, "write '%s': the record of one file is too large", BUNDLE_MANIFEST);
}
