/*
 * planning - turns a policy into what mounts, Landlock and the call filter enforce.
 *
 * Half of the work needs the tree as the program will see it: globs, and names that are always
 * protected.  planning_look does that, in a process whose root is that tree.  The rest only
 * rearranges lists, and can be done anywhere.
 */
#pragma once
#include "confine/treerules.h"
#include "sandbox/mountplan.h"
#include "sandbox/restriction.h"

/* The lists of a resolved policy with globs replaced by the files that match. */
struct planning {
	const struct policy *policy;
	struct policy_list read, read_denied, read_holes;
	struct policy_list write, write_denied;
	struct policy_list programs, programs_denied;
	struct policy_list grantable; /* what exists of it */
	/* Where Landlock leaves reading and writing to the mounts, so that they can be granted. */
	struct policy_list left_to_mounts;
	struct treerules_names names;
};

/* Look at the tree.  A line for each rule that stands for nothing is appended to warnings. */
int planning_look(const struct policy *policy, struct arena *arena, struct planning *out,
	struct buf *warnings, struct err *err);

/* The mounts; list and paths lie in arena or belong to planning.  Sets list and n alone. */
void planning_mounts(const struct planning *planning, struct arena *arena, struct mountplan *out);
/*
 * All else that the command's process takes on, but warden and group.  explained: a warden explains
 * denied calls.
 */
void planning_restrict(const struct planning *planning, struct arena *arena, bool explained,
	struct restriction *out);

/* The limits that hold for the command and its descendants together. */
struct resource_limits planning_limits(const struct policy *policy);
/* The time that they may take; 0: any. */
int64_t planning_wall_secs(const struct policy *policy);

/* The lists that planning_restrict needs, for another process. */
void planning_write(const struct planning *planning, struct buf *out);
/* policy is the same, resolved in the same way. */
int planning_read(struct str text, const struct policy *policy, struct arena *arena,
	struct planning *out, struct err *err);
