/* doctor_cgroup - check whether cgroups can be frozen. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/mountinfo.h"
#include "core/own.h"
#include "ops/doctor_priv.h"

/* Make a control group in the directory dir, freeze the group and remove it. */
static void freeze_in(int dir, struct probe *probe)
{
	struct err err = { 0 };
	char name[32];

	probe_new_name(name);
	if (mkdirat(dir, name + 1, 0755) < 0)
		return probe_errno(probe, "make a group");
	owned_fd int group = at_open(dir, name + 1, O_RDONLY | O_DIRECTORY, &err);
	owned_fd int freeze = group < 0 ? -1 : at_open(group, "cgroup.freeze", O_WRONLY, &err);
	int r = freeze < 0 ? 0 : at_write_all(freeze, "1", 1);

	if (freeze < 0)
		probe_lacks(probe, "%s", err.text);
	else if (r < 0)
		probe_lacks(probe, "cgroup.freeze: %s", strerror(-r));
	else
		probe->ok = true;
	(void)unlinkat(dir, name + 1, AT_REMOVEDIR);
}

/*
 * Returns the path of the directory of this process's control group.  The caller frees the path.
 * 'mount' is the path where the cgroup file system is mounted, and 'base' is the name of the group
 * at the root of this mount.  Returns NULL if the mount does not show the group of this process, or
 * if the process is in the root group.
 */
static char *own_group(const char *mount, const char *base)
{
	owned_mem char *text = probe_read("/proc/self/cgroup");
	char *at = text ? strstr(text, "0::/") : NULL;
	size_t skip = strcmp(base, "/") ? strlen(base) : 0;

	if (!at || (at != text && at[-1] != '\n'))
		return NULL;
	at += 3;
	at[strcspn(at, "\n")] = '\0';
	if (strncmp(at, base, skip) || !strcmp(at, "/"))
		return NULL;
	return mem_printf("%s%s", mount, at + skip);
}

static void freeze_by_name(const char *path, struct probe *probe)
{
	struct err err = { 0 };
	owned_fd int dir = path ? at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err) : -1;

	if (!path)
		return;
	if (dir < 0)
		return probe_lacks(probe, "%s", err.text);
	freeze_in(dir, probe);
	if (probe->ok)
		probe_ok(probe, "a group under %s was made and frozen", path);
}

/*
 * Try the group of this process first, because it may be the only group that was delegated to this
 * user.  Then try the root of the mount.
 */
static void freeze_at(const struct mountinfo *mount, struct probe *probe)
{
	owned_mem char *own = own_group(mount->point, mount->root);

	freeze_by_name(own, probe);
	if (!probe->ok)
		freeze_by_name(mount->point, probe);
}

void doctor_cgroup_freezer(struct doctor *doctor, struct probe *probe)
{
	owned_mem char *mounts = probe_read("/proc/self/mountinfo");
	struct mountinfo mount;
	bool any = false;

	for (char *rest = mounts; !probe->ok && mountinfo_next(&rest, &mount);) {
		if (strcmp(mount.type, "cgroup2"))
			continue;
		any = true;
		freeze_at(&mount, probe);
	}
	if (any)
		return;
	/* No cgroup2 mount is visible here.  Root can make such a mount, so try it. */
	owned_fd int loose = probe_mount("cgroup2", NULL, probe);
	if (loose >= 0)
		freeze_in(loose, probe);
	if (probe->ok)
		probe_ok(probe, "cgroup2 is not mounted, but we can; a group was made and frozen");
}
