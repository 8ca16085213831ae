/*
 * families - makes the families of snapshots that the options of a program name.
 *
 * All programs and commands that answer queries have these options.  This file does not make the
 * family of the environment, since that needs an open environment.
 */
#pragma once
#include "core/param.h"
#include "query/registry.h"
#include "query/restoreroots.h"

#define FAMILIES_STRATA "strata" /* the family of the environment */

struct families_options {
	struct param_texts providers; /* names of the wanted families; none: all */
	struct param_texts folders;
	struct param_texts restore; /* directories in which files may be restored */
	bool trust_mountpoints;
};

/*
 * The parameters for the struct families_options that is the member MEMBER of the request REQUEST.
 */
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

/* Check that there are families with the names in options->providers. */
int families_check(const struct families_options *options, struct err *err);
/* Whether a family is wanted.  The family of folders is wanted whenever folders are given. */
bool families_wants(const struct families_options *options, const char *name);
/* Open the directories in which files may be restored. */
int families_restore(
	const struct families_options *options, struct restoreroots *roots, struct err *err);
/* Make the wanted families, and add them to the registry. */
int families_add(
	const struct families_options *options, struct registry *registry, struct err *err);
