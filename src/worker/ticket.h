/*
 * ticket - ends the work on a request at its deadline, when the request is cancelled, or when the
 * peer has closed the connection.
 *
 * Long work calls ticket_check in its loops.  Such a call costs little.  Another thread may cancel
 * the request.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define TICKET_SECONDS 60 /* maximum time for one request */

struct ticket {
	_Atomic bool cancelled;
	int peer;         /* the connection; the work ends when the peer closes it; -1: none */
	int64_t deadline; /* in the time of when_monotonic; 0: none */
	unsigned asked;   /* number of calls of ticket_check */
	int64_t next_look;
};

void ticket_init(struct ticket *ticket, int peer);
/* Returns 0 if the work may go on.  Otherwise fails with ERR_SYSTEM and ECANCELED or ETIMEDOUT. */
int ticket_check(struct ticket *ticket, struct err *err);
