#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/doctor_priv.h"

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

/* \040 and the like in mountinfo, in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] && text[2] && text[3]) {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* The n-th word of a line, from 0; owned. */
static char *word(const char *line, int n)
{
	for (; n; n--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	return mem_printf("%.*s", (int)strcspn(line, " \n"), line);
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

/* One line of mountinfo: try our own group there, then the top. */
static bool freeze_at_mount(const char *line, struct finding *finding)
{
	const char *type = strstr(line, " - ");

	if (!type || strncmp(type, " - cgroup2 ", 11) || memchr(line, '\n', (size_t)(type - line)))
		return false;
	owned_mem char *base = word(line, 3);
	owned_mem char *mount = word(line, 4);
	unescape(base);
	unescape(mount);
	owned_mem char *own = own_group(mount, base);
	freeze_by_name(own, finding);
	if (!finding->ok)
		freeze_by_name(mount, finding);
	return true;
}

void doctor_cgroup_freezer(struct doctor *doctor, struct finding *finding)
{
	static const struct finding_option none[] = { { NULL, NULL } };
	owned_mem char *mounts = finding_read("/proc/self/mountinfo");
	bool any = false;

	for (const char *line = mounts; line && *line && !finding->ok;) {
		any |= freeze_at_mount(line, finding);
		line = strchr(line, '\n');
		line += line != NULL;
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
