/*
 * explainer - explains why the kernel denies what a program under a policy attempts.
 *
 * Mounts, Landlock and the call filter deny accesses.  The explainer is told of accesses to masked
 * files, and of system calls that are denied, change files or execute a program.  It finds the rule
 * of the policy that forbids the attempt, and the remedy, and adds both to the denials.  It decides
 * nothing, and never looks at a masked file.
 */
#pragma once
#include "confine/denials.h"
#include "confine/grants.h"
#include "policy/policy.h"
#include "sandbox/callfilter.h"
#include "sandbox/mountplan.h"

/* All pointers are borrowed. */
struct explainer {
	const struct policy *policy;           /* with absolute paths (policy_resolve) */
	const struct mountplan_entry *entries; /* the list of the mount plan */
	const struct mountplan_made *mounts;
	const struct grants *grants; /* NULL: nothing was granted */
	struct denials *denials;
	int proc;               /* the /proc of this process's PID namespace */
	unsigned long long mnt; /* inode number of the mount namespace of the command */
};

/*
 * Explain an access of the process 'pid' to a masked path.  'entry' is the index of the statement
 * that masks the path.  'below' is the path below the mask, or "" for the mask itself.  'arg' is
 * the explainer.
 */
void explainer_masked(void *arg, size_t entry, const char *below, pid_t pid);
/* Explain a call that waits for an answer, if it is denied.  'arg' is the explainer. */
void explainer_call(void *arg, const struct callfilter_event *event);
/*
 * Whether a thread is in the mount namespace of the command.  A program in a sandbox of its own may
 * have other files at the same paths.
 */
bool explainer_has_mounts(const struct explainer *explainer, int proc, pid_t tid);
