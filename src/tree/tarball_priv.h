/* tarball_priv - limits and names that the reader and the writer of tarballs share. */
#pragma once
#include "tree/tarball.h"

#define TARBALL_SECOND INT64_C(1000000000)
#define TARBALL_DEPTH_MAX 16384 /* maximum number of components of a path, as in ingest.c */
#define TARBALL_PATHS_MAX ((size_t)8 << 20)

/* Names of attributes that only strata understands.  No file can have such an attribute. */
#define TARBALL_OURS STR("strata.")
#define TARBALL_OURS_TYPE STR("strata.type")
#define TARBALL_OURS_SIZE STR("strata.size")
#define TARBALL_TYPE_SOCKET STR("socket")
#define TARBALL_TYPE_UNREAD STR("unread")
