/*
 * ref - from what a person types to a node.
 *
 *	id or unique prefix of at least 4 digits | tag | HEAD | @ | REF~N | REF^
 *	@{TIME}   HEAD at that time          @{-N}   HEAD N movements ago
 *	work      the live tree, where the caller allows it
 *
 * The order in which a plain word is tried: HEAD, tag, id.
 */
#pragma once
#include "history/history.h"

#define REF_CANDIDATES 8

struct ref {
	bool work; /* the live tree; id is then HEAD */
	char id[NODE_ID];
};

/*
 * ERR_NOT_FOUND for an unknown one; for an ambiguous prefix ERR_INVALID whose text
 * lists the candidates.  A deleted node is told apart from one that never was.
 */
int ref_resolve(struct history *history, const char *workspace, const char *text, struct ref *ref,
	struct err *err);

/* "REF:PATH" apart; *path is empty without a colon.  Colons inside @{…} do not count. */
void ref_split(struct str text, struct str *ref, struct str *path);
