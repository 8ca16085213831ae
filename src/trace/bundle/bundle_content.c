/* Finds and reads the contents of a bundle's files. */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle/bundle_priv.h"
#include "trace/bundle/git.h"

/*
 * Compare the two contents of a file without reading them.  Different times do not prove that the
 * contents differ: the command may have set the time without writing, and then no content is saved.
 */
bool bundle_content_is_same(const struct bundle_file *file)
{
	const struct bundle_state *a = &file->state[BUNDLE_BEFORE], *b = &file->state[BUNDLE_AFTER];
	const unsigned writing = BUNDLE_WRITE | BUNDLE_CREATE | BUNDLE_DELETE | BUNDLE_RENAME;
	unsigned both = a->has & b->has;

	if (both & BUNDLE_HAS_HASH)
		return hash_eq(&a->sha256, &b->sha256);
	if (both & BUNDLE_HAS_BLOCKS)
		return hash_eq(&a->blocks, &b->blocks);
	if (both & BUNDLE_HAS_BLOB && str_eq(a->blob, b->blob))
		return true;
	if (both & BUNDLE_HAS_BLOB && !(both & BUNDLE_HAS_MTIME))
		return false; /* the states have nothing else to compare */
	bool only_times = file->operations & BUNDLE_METADATA &&
			  !(b->has & (BUNDLE_HAS_HASH | BUNDLE_HAS_BLOB));

	return !(file->operations & writing) && (!(both & BUNDLE_HAS_SIZE) || a->size == b->size) &&
	       (!(both & BUNDLE_HAS_MTIME) || a->mtime == b->mtime || only_times);
}

/* Whether the file has the same type and content in both states. */
static bool is_content_shared(const struct bundle_file *file)
{
	const struct bundle_state *a = &file->state[BUNDLE_BEFORE], *b = &file->state[BUNDLE_AFTER];

	return a->exists && b->exists && a->type == b->type && bundle_content_is_same(file);
}

/* ------------------------------------------------------------- repositories */

/*
 * Open only the objects of a repository.  This works even if the work tree has been removed, since
 * the objects are in a directory that all work trees of the repository use.
 */
static struct git *open_common(const struct bundle *bundle, struct str root)
{
	struct err ignored = { 0 };

	for (size_t i = 0; i < bundle->n_repositories; i++)
		if (str_eq(bundle->repositories[i].root, root) &&
			bundle->repositories[i].common.len)
			return git_open_objects(bundle->repositories[i].common.ptr, &ignored);
	return NULL;
}

static struct bundle_opened *find_repository(struct bundle *bundle, struct str root)
{
	struct bundle_priv *priv = bundle->priv;

	for (size_t i = 0; i < priv->n_opened; i++)
		if (str_eq(priv->opened[i].root, root))
			return &priv->opened[i];
	mem_grow(&priv->opened, &priv->cap_opened, priv->n_opened);
	struct bundle_opened *repository = &priv->opened[priv->n_opened++];
	*repository = (struct bundle_opened){ .root = root };
	repository->git = git_open(root.ptr, &repository->why);
	if (!repository->git)
		repository->git = open_common(bundle, root);
	return repository;
}

void bundle_content_release(struct bundle_priv *priv)
{
	for (size_t i = 0; i < priv->n_opened; i++)
		git_close(priv->opened[i].git);
	free(priv->opened);
}

/* ----------------------------------------------------------------- locating */

/* Where a content is read from. */
struct source {
	enum { SOURCE_EMPTY, SOURCE_BLOB, SOURCE_GIT } kind;
	const struct bundle_state *state; /* the state that has the key of the blob */
	struct git *git;
	char oid[GIT_OID_HEX];
};

static int locate_in_git(struct bundle *bundle, const struct bundle_file *file,
	struct source *source, struct err *err)
{
	const struct bundle_git *git = &file->git;
	struct bundle_opened *repository = find_repository(bundle, git->root);

	if (!repository->git)
		return err_set(err, ERR_NOT_FOUND,
			"it was not saved, since it was clean in git, and %s",
			repository->why.text);
	source->kind = SOURCE_GIT;
	source->git = repository->git;
	if (git->oid.len) {
		snprintf(source->oid, sizeof(source->oid), "%s", git->oid.ptr);
		if (git_has(source->git, source->oid))
			return 0;
		return err_set(err, ERR_NOT_FOUND,
			"it was not saved, since it was clean in git, and '%.*s' no longer has "
			"%.64s",
			BUNDLE_WHERE_BYTES, git->root.ptr, git->oid.ptr);
	}
	owned_mem char *path = mem_dup(git->path.ptr, git->path.len);
	int rc = git_find(source->git, git->head.ptr, path, source->oid, err);
	if (rc == -ERR_INVALID)
		err->code = ERR_NOT_FOUND;
	return rc < 0 ? err_context(err, "it was not saved, since it was clean in git") : 0;
}

int bundle_content_part(
	const struct bundle *bundle, const struct bundle_state *state, unsigned part, uint64_t *row)
{
	if (!bundle->blobs)
		return 0;
	if (part == 1)
		return pqread_find(bundle->blobs, state->blob, row);
	owned_mem char *key = mem_printf(BUNDLE_PART_KEY, state->blob.ptr, part);
	if (pqread_find(bundle->blobs, str_of(key), row) == 1)
		return 1;
	owned_mem char *old = mem_printf("%s#%u", state->blob.ptr, part);
	return pqread_find(bundle->blobs, str_of(old), row);
}

static int locate_blob(const struct bundle *bundle, const struct bundle_state *state,
	struct source *source, struct err *err)
{
	uint64_t row;

	source->kind = SOURCE_BLOB;
	source->state = state;
	if (!bundle->blobs)
		return err_set(err, ERR_CORRUPT, "there is no " BUNDLE_BLOBS);
	for (unsigned part = 1; part <= state->blob_parts; part++)
		if (bundle_content_part(bundle, state, part, &row) != 1)
			return err_set(err, ERR_CORRUPT, BUNDLE_BLOBS " has no %s'%.*s'",
				part > 1 ? "more of " : "", BUNDLE_WHERE_BYTES, state->blob.ptr);
	return 0;
}

static int locate_content(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct source *source, struct err *err)
{
	const struct bundle_state *state = &file->state[side], *other = &file->state[!side];
	const struct bundle_git *git = &file->git;

	if (!state->exists)
		return err_set(err, ERR_NOT_FOUND, "it did not exist %s the command",
			bundle_side_name(side));
	if (state->type != BUNDLE_FILE)
		return err_set(err, ERR_NOT_FOUND, "it was a %s, not a regular file",
			bundle_type_name(state->type));
	if (state->has & BUNDLE_HAS_BLOB)
		return locate_blob(bundle, state, source, err);
	if (state->has & BUNDLE_HAS_SIZE && !state->size) {
		source->kind = SOURCE_EMPTY;
		return 0;
	}
	bool shared = is_content_shared(file);
	if (shared && other->has & BUNDLE_HAS_BLOB)
		return locate_blob(bundle, other, source, err);
	/* The 'git' member of a record describes the state before the command. */
	if (git->tracked && !git->dirty && git->root.len &&
		(side == BUNDLE_BEFORE || shared || state->has & BUNDLE_HAS_HASH))
		return locate_in_git(bundle, file, source, err);
	if (state->has & (BUNDLE_HAS_HASH | BUNDLE_HAS_BLOCKS))
		return err_set(err, ERR_NOT_FOUND,
			"its content was not saved, since it is large and was only read");
	return err_set(err, ERR_NOT_FOUND, "its content was not saved");
}

/* ------------------------------------------------------------------ reading */

/*
 * Passes the pieces of a content on to 'sink', and computes the size and the hash of the content.
 * check_end compares both with the recorded values.
 */
struct checker {
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err);
	void *arg;
	struct hash_stream *hash;
	uint64_t size;
};

static int check_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct checker *checker = arg;

	hash_stream_add(checker->hash, bytes, len);
	checker->size += len;
	return checker->sink ? checker->sink(checker->arg, bytes, len, err) : 0;
}

/*
 * Compare the size and hash of a content with the recorded size and hash.  In a content from git, a
 * difference is not always damage: git may have stored the content in another form, for example
 * with other line ends.
 */
static int check_end(const struct bundle_state *state, const struct source *source, uint64_t size,
	const struct hash *hash, struct err *err)
{
	bool right = (!(state->has & BUNDLE_HAS_SIZE) || size == state->size) &&
		     (!(state->has & BUNDLE_HAS_HASH) || hash_eq(hash, &state->sha256));

	if (right)
		return 0;
	if (source->kind == SOURCE_GIT)
		return err_set(err, ERR_NOT_FOUND,
			"it was not saved, and what git has is not what was there");
	return err_set(err, ERR_CORRUPT, "its content is not the one recorded");
}

static int read_blob(struct bundle *bundle, const struct bundle_state *state,
	struct checker *checker, struct err *err)
{
	uint64_t row;
	int rc = 0;

	for (unsigned part = 1; part <= state->blob_parts && rc >= 0; part++) {
		rc = bundle_content_part(bundle, state, part, &row);
		if (rc > 0)
			rc = pqread_content(bundle->blobs, row, check_piece, checker, err);
	}
	return rc;
}

static int read_content(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct checker *checker, struct hash *hash, struct err *err)
{
	struct source source = { 0 };
	int rc = locate_content(bundle, file, side, &source, err);

	if (rc < 0)
		return rc;
	checker->hash = hash_stream_new();
	if (source.kind == SOURCE_BLOB)
		rc = read_blob(bundle, source.state, checker, err);
	else if (source.kind == SOURCE_GIT)
		rc = git_content(source.git, source.oid, check_piece, checker, err);
	hash_stream_finish(checker->hash, hash);
	return rc < 0 ? rc : check_end(&file->state[side], &source, checker->size, hash, err);
}

int bundle_content(struct bundle *bundle, const struct bundle_file *file, enum bundle_side side,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err)
{
	struct checker checker = { .sink = sink, .arg = arg };
	struct hash hash;

	return read_content(bundle, file, side, &checker, &hash, err);
}

uint64_t bundle_content_place(
	struct bundle *bundle, const struct bundle_file *file, enum bundle_side side)
{
	struct source source = { 0 };
	struct err ignored = { 0 };
	uint64_t row;

	if (locate_content(bundle, file, side, &source, &ignored) < 0 ||
		source.kind != SOURCE_BLOB ||
		bundle_content_part(bundle, source.state, 1, &row) != 1)
		return UINT64_MAX;
	return row;
}

int bundle_content_exists(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct err *err)
{
	struct source source = { 0 };

	return locate_content(bundle, file, side, &source, err);
}

int bundle_content_hash(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct hash *hash, struct err *err)
{
	struct checker checker = { 0 };
	struct err why = { 0 };

	if (file->state[side].has & BUNDLE_HAS_HASH) {
		*hash = file->state[side].sha256;
		return 1;
	}
	int rc = read_content(bundle, file, side, &checker, hash, &why);
	if (rc >= 0 || why.code == ERR_NOT_FOUND)
		return rc >= 0;
	*err = why;
	return rc;
}
