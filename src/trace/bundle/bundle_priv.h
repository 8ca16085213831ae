/*
 * bundle_priv - data and functions that the files that read bundles share.
 */
#pragma once
#include "trace/bundle/bundle.h"
#include "trace/bundle/bundle_content.h"

#define BUNDLE_WHERE_BYTES 200 /* most bytes of a path in a message */

/* A git repository that was opened for contents. */
struct bundle_opened {
	struct str root;
	struct git *git; /* NULL: it could not be opened, and why has the error */
	struct err why;
};

struct bundle_priv {
	struct arena arena;
	int dir; /* where pqread may make temporary files */
	int blobs_fd;
	struct bundle_opened *opened;
	size_t n_opened, cap_opened;
	size_t cap_files;
};

/*
 * Fill in everything from the text of a manifest.  The records stay in the order of the manifest.
 */
int bundle_read_manifest(struct bundle *bundle, struct str text, struct err *err);
struct jsonread;
/* Read the state that a record has under this name.  If it has none, state is not changed. */
int bundle_state_read(struct arena *arena, const struct jsonread *record, const char *name,
	struct bundle_state *state, struct err *err);
/* Close the repositories. */
void bundle_content_release(struct bundle_priv *priv);
