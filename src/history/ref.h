/*
 * ref - find the node that a reference typed by a user means.
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
	bool work; /* the live tree; id is then HEAD */
	char id[NODE_ID];
};

/*
 * ERR_NOT_FOUND for an unknown reference; the text says so if its node was deleted.  ERR_INVALID
 * for an ambiguous prefix; the text lists the candidates.
 */
int ref_resolve(struct history *history, const char *workspace, const char *text, struct ref *ref,
	struct err *err);

/* Split "REF:PATH"; *path is empty without a colon.  Colons inside @{…} do not count. */
void ref_split(struct str text, struct str *ref, struct str *path);
