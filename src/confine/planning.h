/*
 * planning - turns a policy into what mounts, Landlock and the call filter enforce.
 *
 * Half of the work needs the tree as the program will see it: the files that match globs, and the
 * names that are always protected, have to be found in that tree.  planning_look does that half, in
 * a process whose root is that tree.  The other half only rearranges lists, and can be done in any
 * process.
 */
#pragma once
#include "confine/treerules.h"
#include "sandbox/mountplan.h"
#include "sandbox/restriction.h"

/* The lists of a resolved policy, with globs replaced by the files that match them. */
struct planning {
	const struct policy *policy;
	struct policy_list read, read_denied, read_holes;
	struct policy_list write, write_denied;
	struct policy_list programs, programs_denied;
	struct policy_list grantable; /* the places of fs.grantable that exist */
	/*
	 * Places that Landlock allows to read and write, so that only the mounts restrict them.
	 * Access to such places can be granted later.
	 */
	struct policy_list left_to_mounts;
	struct treerules_names names;
};

/*
 * Fill in *out by looking at the tree.  Appends a line to 'warnings' for each rule that matches
 * nothing.
 */
int planning_look(const struct policy *policy, struct arena *arena, struct planning *out,
	struct buf *warnings, struct err *err);

/*
 * Set the members 'list' and 'n' of a mount plan, and no other member.  The list and its paths
 * belong to the arena or to 'planning'.
 */
void planning_mounts(const struct planning *planning, struct arena *arena, struct mountplan *out);
/*
 * Fill in the restriction that the command's process enters, except the members 'warden' and
 * 'group'.  'explained' is true if a warden explains denied calls.
 */
void planning_restrict(const struct planning *planning, struct arena *arena, bool explained,
	struct restriction *out);

/*
 * Append a line for each rule of the policy that no kernel can enforce on a command.  'group' is
 * the command's cgroup.
 */
void planning_lacks(
	const struct policy *policy, const struct resource_group *group, struct buf *out);

/* Returns the limits for the command and its descendants together. */
struct resource_limits planning_limits(const struct policy *policy);
/* Returns the seconds that the command and its descendants may run, or 0 if there is no limit. */
int64_t planning_wall_secs(const struct policy *policy);

/*
 * Append the lists that planning_restrict needs, in the form that planning_read reads in another
 * process.
 */
void planning_write(const struct planning *planning, struct buf *out);
/*
 * Read the lists that planning_write has written.  'policy' must be the policy of the writer,
 * resolved in the same way.  The arena owns the lists.
 */
int planning_read(struct str text, const struct policy *policy, struct arena *arena,
	struct planning *out, struct err *err);
