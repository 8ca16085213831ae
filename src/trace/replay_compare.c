#include "trace/replay_compare.h"

#include <unistd.h>

#include "trace/bundle/bundle_content.h"

/*
 * A file after one of the two runs: the record in the bundle of the run, and which of its two
 * states is compared.
 */
struct end {
	struct bundle *bundle;
	const struct bundle_file *file;
	enum bundle_side side;
};

static const struct bundle_state *state_of(const struct end *end)
{
	return &end->file->state[end->side];
}

/*
 * Compare the contents of two files.  Returns 1 if they are equal, 0 if they differ, or a negative
 * error.  A content that a bundle lacks counts as equal.
 */
static int same_content(const struct end *a, const struct end *b, struct err *err)
{
	struct hash hash[2];

	if (state_of(a)->has & state_of(b)->has & BUNDLE_HAS_SIZE &&
		state_of(a)->size != state_of(b)->size)
		return 0;
	int rc = bundle_content_hash(a->bundle, a->file, a->side, &hash[0], err);
	if (rc > 0)
		rc = bundle_content_hash(b->bundle, b->file, b->side, &hash[1], err);
	return rc <= 0 ? (rc < 0 ? rc : 1) : hash_eq(&hash[0], &hash[1]);
}

/*
 * Whether the bundle of a run lists the extended attributes of this state.  The list may be empty.
 * strata does not record the attributes of a file that is only read.  Other tools never record
 * attributes, and can be recognised because their bundles have no owners.
 */
static bool has_xattrs(const struct end *end)
{
	bool looked = end->file->operations & BUNDLE_CHANGING;

	return state_of(end)->has & BUNDLE_HAS_XATTRS ||
	       (looked && state_of(end)->has & BUNDLE_HAS_UID);
}

static unsigned compare_attributes(const struct end *a, const struct end *b)
{
	unsigned what = bundle_compare_attributes(state_of(a), state_of(b)) & ~BUNDLE_CHANGED_MTIME;

	if (state_of(a)->type == BUNDLE_LINK)
		what &= ~BUNDLE_CHANGED_MODE;
	if (geteuid() != 0)
		what &= ~BUNDLE_CHANGED_OWNER;
	if (!has_xattrs(a) || !has_xattrs(b))
		what &= ~BUNDLE_CHANGED_XATTRS;
	return what;
}

static int compare_ends(const struct end *a, const struct end *b, unsigned *what, struct err *err)
{
	const struct bundle_state *recorded = state_of(a), *replayed = state_of(b);

	*what = 0;
	if (recorded->exists != replayed->exists)
		*what = REPLAY_EXISTS;
	else if (recorded->exists && recorded->type != replayed->type)
		*what = BUNDLE_CHANGED_TYPE;
	if (*what || !recorded->exists)
		return 0;
	*what = compare_attributes(a, b);
	int same = recorded->type == BUNDLE_FILE ? same_content(a, b, err) : 1;
	if (!same)
		*what |= BUNDLE_CHANGED_CONTENT;
	return same < 0 ? err_context(err, "'%s'", a->file->path.ptr) : 0;
}

static bool is_temporary(const struct bundle_file *file)
{
	return !file || (!file->state[BUNDLE_BEFORE].exists && !file->state[BUNDLE_AFTER].exists);
}

static bool does_count(const struct bundle_file *recorded, const struct bundle_file *replayed)
{
	if ((recorded && recorded->inherited) || (replayed && replayed->inherited) ||
		(is_temporary(recorded) && is_temporary(replayed)))
		return false;
	return (recorded && replayed) || bundle_is_changed(recorded ?: replayed);
}

/*
 * Compare the states that the two runs have left at one path.  The member 'file' is NULL for a run
 * that did not use the path.
 */
static int compare_path(const struct end *recorded, const struct end *replayed,
	const struct replay_options *options, struct replay *replay, struct err *err)
{
	struct end a = *recorded, b = *replayed;
	unsigned what;

	if (!does_count(a.file, b.file))
		return 0;
	/*
	 * If two processes changed a path, the result depends on the order of their changes.  So
	 * the path is not compared.
	 */
	if ((a.file && a.file->contested) || (b.file && b.file->contested))
		return 0;
	/*
	 * A change by another process is not expected to happen again.  So the state before the
	 * command is compared.
	 */
	if (a.file && a.file->by_other)
		a.side = BUNDLE_BEFORE;
	if (b.file && b.file->by_other)
		b.side = BUNDLE_BEFORE;
	if (!a.file)
		a = (struct end){ b.bundle, b.file, BUNDLE_BEFORE };
	else if (!b.file)
		b = (struct end){ a.bundle, a.file, BUNDLE_BEFORE };
	int rc = compare_ends(&a, &b, &what, err);
	if (rc < 0)
		return rc;
	if (!what) {
		replay->same++;
		return 0;
	}
	replay->differing++;
	struct replay_row row = { a.file->path, what, state_of(&a), state_of(&b) };
	return options->report(options->arg, &row, err);
}

int replay_compare(struct bundle *recorded, struct bundle *replayed,
	const struct replay_options *options, struct replay *replay, struct err *err)
{
	size_t i = 0, k = 0;
	int rc = 0;

	while (rc >= 0 && (i < recorded->n_files || k < replayed->n_files)) {
		int order = i == recorded->n_files ? 1
			    : k == replayed->n_files
				    ? -1
				    : str_cmp(recorded->files[i].path, replayed->files[k].path);
		struct end a = { recorded, order <= 0 ? &recorded->files[i++] : NULL,
			BUNDLE_AFTER };
		struct end b = { replayed, order >= 0 ? &replayed->files[k++] : NULL,
			BUNDLE_AFTER };

		rc = compare_path(&a, &b, options, replay, err);
	}
	return rc;
}
