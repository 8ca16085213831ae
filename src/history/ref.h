/*
 * ref - finds the node that a user means by a reference.
 *
 *	id or unique prefix of at least 4 digits | tag | HEAD | @ | REF~N | REF^
 *	@{TIME}   HEAD at that time          @{-N}   HEAD N movements ago
 *	work      the live tree, where the caller allows it
 *
 * A plain word is tried as HEAD, then as a tag, then as an id.
 */
#pragma once
#include "history/history.h"

#define REF_CANDIDATES 8

struct ref {
	bool work; /* the reference means the live tree, and id is that of HEAD */
	char id[NODE_ID];
};

/*
 * Find the node that text refers to.  Returns ERR_NOT_FOUND for an unknown reference.  If the node
 * was deleted, the message says so.  Returns ERR_INVALID for an ambiguous prefix, with a message
 * that lists the candidates.
 */
int ref_resolve(struct history *history, const char *workspace, const char *text, struct ref *ref,
	struct err *err);

/*
 * Split "REF:PATH" at the first colon.  Colons inside @{…} do not count.  Without a colon, *path is
 * empty.
 */
void ref_split(struct str text, struct str *ref, struct str *path);
