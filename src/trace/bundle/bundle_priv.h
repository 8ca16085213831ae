/* bundle_priv - data and functions that the source files for reading bundles share. */
#pragma once
#include "trace/bundle/bundle.h"
#include "trace/bundle/bundle_content.h"

#define BUNDLE_WHERE_BYTES 200 /* maximum number of bytes of a path in a message */

/* A git repository that has been opened to read contents. */
struct bundle_opened {
	struct str root;
	struct git *git; /* NULL: the repository could not be opened, for the reason in 'why' */
	struct err why;
};

struct bundle_priv {
	struct arena arena;
	int dir; /* directory in which pqread may make temporary files */
	int blobs_fd;
	struct bundle_opened *opened;
	size_t n_opened, cap_opened;
	size_t cap_files;
};

/* Fill in a bundle from the text of its manifest.  The files stay in the order of the manifest. */
int bundle_read_manifest(struct bundle *bundle, struct str text, struct err *err);
struct jsonread;
/*
 * Read the state that a record has under the given name.  If the record has no such state, *state
 * is not changed.
 */
int bundle_state_read(struct arena *arena, const struct jsonread *record, const char *name,
	struct bundle_state *state, struct err *err);
/* Close the repositories that were opened to read contents. */
void bundle_content_release(struct bundle_priv *priv);
