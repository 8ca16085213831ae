/*
 * candidate - one candidate of a tournament, from its start to its end.
 *
 * A child of the tournament runs it: the candidate, its commit, the test, the score, each as
 * exec does, in a workspace of its own; over a socket it says how far it is.  The child dies
 * with the tournament, and what runs in the workspace dies with the child, because the
 * sandbox sees its connection close.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>

#include "ops/boundlog.h"
#include "ops/judge.h"
#include "ops/requests.h"

/* What all candidates of a tournament have in common. */
struct candidate_plan {
	const char *root;
	const char *test;
	const char *score; /* NULL: none */
	int64_t timeout_ms;
	const char *base; /* id of the node */
	struct judge judge;
	bool test_in_candidate; /* its own judge */
	int logs;               /* directory */
	uint64_t log_limit;     /* of each */
	sigset_t mask;          /* of signals, for the children */
};

struct candidate {
	struct tournament_row row;
	const char *workspace;
	pid_t pid; /* 0: it does not run */
	int news;  /* what the child says; -1 */
	int says;  /* what it and its programs print; -1 */
	struct boundlog log;
	bool told; /* the row has been given out */
};

int candidate_start(
	struct candidate *candidate, const struct candidate_plan *plan, struct err *err);
/* Wait for what the child says next: 1, or 0 when it has ended. */
int candidate_hear(struct candidate *candidate);
/* Put what was printed meanwhile into the log; until then who prints may have to wait. */
void candidate_listen(struct candidate *candidate);
/* Kill it and all that runs in its workspace, at once; candidate_bury sees to the rest. */
void candidate_kill(struct candidate *candidate);
/* After candidate_kill: hear what it had to say, and mark it cancelled unless it had ended. */
void candidate_bury(struct candidate *candidate);
