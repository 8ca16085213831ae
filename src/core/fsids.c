#include "core/fsids.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Set the file ids.  The kernel then takes the capabilities for files out of the effective set, so
 * this function restores the set.
 */
static int change_fsids(unsigned uid, unsigned gid, struct err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capget, &header, data) < 0)
		return err_errno(err, "look at our capabilities");
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	/*
	 * setfsuid and setfsgid report no errors.  They return the previous id, so a further call,
	 * which changes nothing, shows whether the id was set.
	 */
	if ((unsigned)setfsuid((uid_t)-1) != uid || (unsigned)setfsgid((gid_t)-1) != gid)
		return err_set(err, ERR_UNSUPPORTED, "there is no id %u here", uid);
	return syscall(SYS_capset, &header, data) < 0 ? err_errno(err, "keep our capabilities") : 0;
}

int fsids_take(unsigned uid, unsigned gid, struct fsids *before, struct err *err)
{
	before->uid = (unsigned)setfsuid((uid_t)-1);
	before->gid = (unsigned)setfsgid((gid_t)-1);
	return change_fsids(uid, gid, err);
}

int fsids_give_back(const struct fsids *before, struct err *err)
{
	return change_fsids(before->uid, before->gid, err);
}
