/*
 * families - the options that say which snapshots can be asked about, and the families they make.
 *
 * All programs and commands that answer queries have these options.  The family of the environment
 * is not made here, since it needs an open environment.
 */
#pragma once
#include "core/param.h"
#include "query/registry.h"

#define FAMILIES_STRATA "strata" /* the family of the environment */

struct families_options {
	struct param_texts providers; /* names of families; none: all */
	struct param_texts folders;
	struct param_texts restore; /* directories in which files may be restored */
	bool trust_mountpoints;
};

/* The parameters of the operation REQUEST, whose member MEMBER is a struct families_options. */
#define FAMILIES_PARAMS(REQUEST, MEMBER)                                                           \
	PARAM_AS("provider", REQUEST, MEMBER.providers, TEXTS, 0,                                  \
		"only this kind of snapshots: strata, btrfs or zfs; may be given several "         \
		"times"),                                                                          \
		PARAM_AS("folder", REQUEST, MEMBER.folders, TEXTS, 0,                              \
			"also a folder of snapshots: DIR or NAME=DIR; may be given several "       \
			"times"),                                                                  \
		PARAM_AS("allow_restore", REQUEST, MEMBER.restore, TEXTS, 0,                       \
			"a directory in which files may be restored; may be given several times"), \
		PARAM_AS("trust_mountpoints", REQUEST, MEMBER.trust_mountpoints, FLAG, 0,          \
			"do not check that a ZFS snapshot is one, for tests")

/* Check the names of the providers. */
int families_check(const struct families_options *options, struct err *err);
/* Whether a family is wanted.  Folders that are given are always wanted. */
bool families_wants(const struct families_options *options, const char *name);
/* Make the wanted families, and add them to the registry. */
int families_add(
	const struct families_options *options, struct registry *registry, struct err *err);
