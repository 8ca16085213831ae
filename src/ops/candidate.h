/*
 * candidate - one candidate of a tournament, from its start to its end.
 *
 * A candidate is a command.  For each candidate, a child process of the tournament runs this
 * command, commits its changes, and runs the commands for the test and the score.  Each command
 * runs as with 'exec', in a workspace that no other candidate uses.  The child reports its state
 * over a socket.  The child dies with the tournament.  When the child dies, its connection to the
 * sandbox is closed.  The sandbox then kills the programs in the workspace.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>

#include "ops/boundlog.h"
#include "ops/judge.h"
#include "ops/requests.h"

/* The settings that all candidates of a tournament have in common. */
struct candidate_plan {
	const char *root;
	const char *test;
	const char *score; /* NULL: none */
	int64_t timeout_ms;
	const char *base; /* id of the node that each candidate starts from */
	struct judge judge;
	bool test_in_candidate; /* run the test with the candidate's version of the test's files */
	int logs;               /* directory of the logs */
	uint64_t log_limit;     /* maximum size of each log in bytes */
	sigset_t mask;          /* signal mask of the children */
};

struct candidate {
	struct tournament_row row;
	const char *workspace;
	pid_t pid;  /* 0: not running */
	int states; /* socket with the states that the child reports; -1: none */
	int output; /* pipe with the output of the child and its programs; -1: none */
	struct boundlog log;
	bool emitted; /* op_emit was called with the row */
};

int candidate_start(
	struct candidate *candidate, const struct candidate_plan *plan, struct err *err);
/* Wait for the next state that the child reports.  Returns 1, or 0 if the child has ended. */
int candidate_read_state(struct candidate *candidate);
/*
 * Move output from the pipe into the log.  Call this function often, because programs that print
 * have to wait while the pipe is full.
 */
void candidate_read_output(struct candidate *candidate);
/* Kill the candidate and all programs in its workspace, without waiting until they have ended. */
void candidate_kill(struct candidate *candidate);
/*
 * Read the last states of a candidate that was ended by candidate_kill.  If the candidate did not
 * reach its last stage, mark it as cancelled.
 */
void candidate_reap(struct candidate *candidate);
