/*
 * bundle_priv - what opening a bundle, reading its manifest and finding contents share.
 */
#pragma once
#include "trace/bundle.h"
#include "trace/bundle_content.h"

#define BUNDLE_WHERE_BYTES 200 /* of a path in a message */

/* A repository that was asked for contents. */
struct bundle_opened {
	struct str root;
	struct git *git; /* NULL: why says why not */
	struct err why;
};

struct bundle_priv {
	struct arena arena;
	int dir; /* for what pqread may have to unpack */
	int blobs_fd;
	struct bundle_opened *opened;
	size_t n_opened, cap_opened;
	size_t cap_files;
};

/* What a manifest says, its records in the order they are in there. */
int bundle_read_manifest(struct bundle *bundle, struct str text, struct err *err);
/* Close the repositories. */
void bundle_content_release(struct bundle_priv *priv);
