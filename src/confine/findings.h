/*
 * findings - what a warden has found out about a policy, for the process that runs the command.
 *
 * The warden sees the tree and makes the network; the other process enters the restrictions.  The
 * warden writes a report to a file in memory that both processes have open.  The report consists of
 * texts, each with a zero byte at its end: the home directory, the variables, an empty text, the
 * restrictions that are not enforced, and the lists of planning_write.
 */
#pragma once
#include "confine/planning.h"
#include "core/param.h"

/* The content of a report.  Everything is borrowed. */
struct findings_report {
	const char *home;             /* the home directory of the command's user */
	const char *const *variables; /* a list that ends with NULL; NULL: none */
	const struct buf *lacks;      /* the restrictions that are not enforced, one on each line */
	const struct planning *planning;
};

struct findings {
	struct policy policy;         /* with absolute paths (policy_resolve) */
	struct planning planning;     /* for planning_restrict */
	struct param_texts variables; /* variables that make programs use the proxy */
	const char *lacks;            /* the restrictions that are not enforced, one on each line */
};

int findings_write(const struct findings_report *report, int file, struct err *err);
/*
 * Read a report.  'policy' is the policy before its paths were resolved.  'workspace' is the
 * directory in the sandbox that $WORKSPACE stands for.  The arena owns the findings.
 */
int findings_read(int file, const struct policy *policy, const char *workspace, struct arena *arena,
	struct findings *out, struct err *err);
