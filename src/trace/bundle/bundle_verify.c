#include "trace/bundle/bundle_verify.h"

#include <errno.h>

#include "core/mem.h"
#include "core/own.h"
#include "trace/bundle/bundle_content.h"
#include "trace/bundle/bundle_priv.h"
#include "trace/bundle/digest.h"

static int report_problem(
	struct bundle_verify *verify, struct str where, const char *problem, struct err *err)
{
	verify->problems++;
	return verify->report ? verify->report(verify->arg, where, problem, err) : 0;
}

static int count_bytes(void *arg, const void *bytes, size_t len, struct err *err)
{
	*(uint64_t *)arg += len;
	return 0;
}

/*
 * Check the content of one state.  Damage is reported as a problem.  A failed system call is
 * returned as an error instead.
 */
static int check_state(struct bundle *bundle, const struct bundle_file *file, enum bundle_side side,
	struct bundle_verify *verify, struct err *err)
{
	struct err why = { 0 };

	if (!(file->state[side].has & BUNDLE_HAS_BLOB))
		return 0;
	if (bundle_content(bundle, file, side, count_bytes, &verify->bytes, &why) >= 0)
		return 0;
	if (why.code == ERR_SYSTEM) {
		*err = why;
		return -(int)err->code;
	}
	owned_mem char *problem = mem_printf("%s: %s", bundle_side_name(side), why.text);
	return report_problem(verify, file->path, problem, err);
}

static void mark_rows(const struct bundle *bundle, const struct bundle_state *state, bool *named)
{
	uint64_t row;

	for (unsigned part = 1; part <= state->blob_parts; part++)
		if (bundle_content_part(bundle, state, part, &row) == 1)
			named[row] = true;
}

static void mark_kept(const struct bundle *bundle, bool *named)
{
	for (size_t i = 0; bundle->blobs && i < bundle->n_kept; i++) {
		const struct bundle_state state = {
			.blob = bundle->kept[i].blob,
			.blob_parts = bundle->kept[i].parts,
		};

		mark_rows(bundle, &state, named);
	}
}

static int check_digests(struct bundle *bundle, struct bundle_verify *verify, struct err *err)
{
	struct hash hash;
	int rc = 0;

	if (bundle->damaged)
		rc = report_problem(verify, STR(BUNDLE_MANIFEST),
			"it is not as it was written: its digest is another", err);
	if (rc < 0 || !bundle->has_blobs_hash)
		return rc;
	if (!bundle->blobs)
		return report_problem(verify, STR(BUNDLE_BLOBS), "it is not there", err);
	errno = -digest_fd(bundle->priv->blobs_fd, &hash);
	if (errno)
		return err_errno(err, "read " BUNDLE_BLOBS);
	if (hash_eq(&hash, &bundle->blobs_hash))
		return 0;
	return report_problem(verify, STR(BUNDLE_BLOBS),
		"it is not as it was written: its digest is another", err);
}

/* Report rows of the table that no state refers to, and keys that more than one row has. */
static int check_rows(struct bundle *bundle, struct bundle_verify *verify, struct err *err)
{
	owned_mem bool *named = mem_zalloc((size_t)verify->blobs + 1);
	int rc = 0;

	for (size_t i = 0; i < bundle->n_files; i++)
		for (int side = 0; side < BUNDLE_SIDES; side++)
			if (bundle->files[i].state[side].has & BUNDLE_HAS_BLOB)
				mark_rows(bundle, &bundle->files[i].state[side], named);
	mark_kept(bundle, named);
	for (uint64_t row = 0; row < verify->blobs && rc >= 0; row++) {
		struct str key = pqread_key(bundle->blobs, row);
		uint64_t first = row;

		(void)pqread_find(bundle->blobs, key, &first);
		if (first != row)
			rc = report_problem(verify, key, "the key is there twice", err);
		else if (!named[row])
			rc = report_problem(verify, key, "no state names this content", err);
	}
	return rc;
}

static int check_bundle(struct bundle *bundle, struct bundle_verify *verify, struct err *err)
{
	int rc = check_digests(bundle, verify, err);

	verify->files = bundle->n_files;
	verify->blobs = bundle->blobs ? pqread_rows(bundle->blobs) : 0;
	if (rc >= 0 && !bundle->was_sorted)
		rc = report_problem(
			verify, STR(BUNDLE_MANIFEST), "its records are not sorted by path", err);
	for (size_t i = 0; i < bundle->n_files && rc >= 0; i++) {
		for (int side = 0; side < BUNDLE_SIDES && rc >= 0; side++)
			rc = check_state(bundle, &bundle->files[i], side, verify, err);
		if (verify->progress)
			verify->progress(verify->arg, i + 1, bundle->n_files);
	}
	return rc < 0 ? rc : check_rows(bundle, verify, err);
}

int bundle_verify(int dir, struct bundle_verify *verify, struct err *err)
{
	struct err why = { 0 };
	owned(bundle_closep) struct bundle *bundle = bundle_open(dir, &why);

	if (bundle)
		return check_bundle(bundle, verify, err);
	if (why.code == ERR_CORRUPT || why.code == ERR_LIMIT)
		return report_problem(verify, STR(""), why.text, err);
	*err = why;
	return -(int)err->code;
}
