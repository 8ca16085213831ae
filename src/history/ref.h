/*
 * ref - finds the node that a user means by a reference.
 *
 *	ID          an id, or a unique prefix of at least 4 digits
 *	TAG         the node of the tag
 *	HEAD or @   HEAD of the workspace
 *	REF~N       the ancestor N steps above REF
 *	REF^        the parent of REF
 *	@{TIME}     the node that was HEAD at that time
 *	@{-N}       the node that was HEAD before the last N movements
 *	work        the live tree, where the caller allows it
 *
 * A plain word is tried as HEAD, then as a tag, then as an id.
 */
#pragma once
#include "history/history.h"

#define REF_CANDIDATES 8

struct ref {
	bool work; /* the reference means the live tree, and 'id' is the id of HEAD */
	char id[NODE_ID];
};

/*
 * Find the node that 'text' refers to.  Returns ERR_NOT_FOUND for an unknown reference.  If the
 * node was deleted, the message says so.  Returns ERR_INVALID for an ambiguous prefix, with a
 * message that lists the candidates.
 */
int ref_resolve(struct history *history, const char *workspace, const char *text, struct ref *ref,
	struct err *err);

/*
 * Split "REF:PATH" at the first colon.  Colons inside @{…} do not count.  Without a colon, *path is
 * empty.
 */
void ref_split(struct str text, struct str *ref, struct str *path);
