#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/doctor_priv.h"
#include "sandbox/mountinfo.h"

/* Make a group in this one, freeze it, remove it. */
static void freeze_in(int dir, struct finding *finding)
{
	struct err err = { 0 };
	char name[32];

	finding_new_name(name);
	if (mkdirat(dir, name + 1, 0755) < 0)
		return finding_failed(finding, "make a group");
	owned_fd int group = at_open(dir, name + 1, O_RDONLY | O_DIRECTORY, &err);
	owned_fd int freeze = group < 0 ? -1 : at_open(group, "cgroup.freeze", O_WRONLY, &err);
	int r = freeze < 0 ? 0 : at_write_all(freeze, "1", 1);

	if (freeze < 0)
		finding_lacks(finding, "%s", err.text);
	else if (r < 0)
		finding_lacks(finding, "cgroup.freeze: %s", strerror(-r));
	else
		finding->ok = true;
	(void)unlinkat(dir, name + 1, AT_REMOVEDIR);
}

/* The group this process is in, under the mount whose root is the group base; owned, or NULL. */
static char *own_group(const char *mount, const char *base)
{
	owned_mem char *text = finding_read("/proc/self/cgroup");
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

static void freeze_by_name(const char *path, struct finding *finding)
{
	struct err err = { 0 };
	owned_fd int dir = path ? at_open_given(path, O_RDONLY | O_DIRECTORY, 0, &err) : -1;

	if (!path)
		return;
	if (dir < 0)
		return finding_lacks(finding, "%s", err.text);
	freeze_in(dir, finding);
	if (finding->ok)
		finding_has(finding, "a group under %s was made and frozen", path);
}

/* Try our own group there, then the top. */
static void freeze_at(const struct mountinfo *mount, struct finding *finding)
{
	owned_mem char *own = own_group(mount->point, mount->root);

	freeze_by_name(own, finding);
	if (!finding->ok)
		freeze_by_name(mount->point, finding);
}

void doctor_cgroup_freezer(struct doctor *doctor, struct finding *finding)
{
	static const struct finding_option none[] = { { NULL, NULL } };
	owned_mem char *mounts = finding_read("/proc/self/mountinfo");
	struct mountinfo mount;
	bool any = false;

	for (char *rest = mounts; !finding->ok && mountinfo_next(&rest, &mount);) {
		if (strcmp(mount.type, "cgroup2"))
			continue;
		any = true;
		freeze_at(&mount, finding);
	}
	if (any)
		return;
	/* Not mounted, or not to be seen: root can mount it. */
	owned_fd int loose = finding_by_mount("cgroup2", none, finding);
	if (loose >= 0)
		freeze_in(loose, finding);
	if (finding->ok)
		finding_has(
			finding, "cgroup2 is not mounted, but we can; a group was made and frozen");
}
