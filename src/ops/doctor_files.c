/* doctor_files - check what the file system of the environment can do. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "ops/doctor_priv.h"
#include "sandbox/program.h"

#define CLONE_TRIES 20 /* ZFS answers EAGAIN until its data is on disk */

static bool on_btrfs(int fd)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == BTRFS_SUPER_MAGIC;
}

void doctor_files_btrfs(struct doctor *doctor, struct probe *probe)
{
	struct err err = { 0 };
	owned_fd int here = at_open_given(".", O_RDONLY | O_DIRECTORY, 0, &err);
	owned_mem char *known = probe_read("/proc/filesystems");
	const char *kernel = "";

	if (known)
		kernel = strstr(known, "\tbtrfs\n") ? ", which the kernel knows"
						    : ", which is not in /proc/filesystems";
	if (on_btrfs(doctor->placefd))
		probe_ok(probe, "%s is on btrfs", doctor->place);
	else if (on_btrfs(here))
		probe_ok(probe, "the working directory is on btrfs, %s is not", doctor->place);
	else
		probe_lacks(probe, "%s is not on btrfs%s", doctor->place, kernel);
}

/* Create a file and remove its name at once. */
static int nameless_file(int dir, struct err *err)
{
	char name[32];

	probe_new_name(name);
	int fd = at_create(dir, name, O_RDWR | O_EXCL, 0600, err);
	if (fd >= 0)
		(void)unlinkat(dir, name, 0);
	return fd;
}

void doctor_files_reflink(struct doctor *doctor, struct probe *probe)
{
	static const char bytes[65536] = "strata";
	struct err err = { 0 };
	owned_fd int from = doctor->placefd < 0 ? -1 : nameless_file(doctor->placefd, &err);
	owned_fd int to = from < 0 ? -1 : nameless_file(doctor->placefd, &err);
	int r = -1;

	if (to < 0)
		return probe_lacks(probe, "in %s: %s", doctor->place,
			doctor->placefd < 0 ? "no directory" : err.text);
	if (at_write_all(from, bytes, sizeof(bytes)) < 0 || fsync(from) < 0)
		return probe_lacks(probe, "in %s: cannot write", doctor->place);
	for (int i = 0; r < 0 && i < CLONE_TRIES; i++) {
		r = ioctl(to, FICLONE, from);
		if (r == 0 || errno != EAGAIN)
			break;
		(void)poll(NULL, 0, 50);
	}
	if (r == 0)
		probe_ok(probe, "a file in %s was cloned", doctor->place);
	else
		probe_lacks(probe, "in %s: clone: %s", doctor->place, strerror(errno));
}

void doctor_files_zfs(struct doctor *doctor, struct probe *probe)
{
	static const char *const programs[] = { "zfs", "zpool" };
	static const char *const argv[] = { "zfs", "version", NULL };
	char path[PATH_MAX];
	struct err err = { 0 };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!program_find(programs[i], path))
			return probe_lacks(probe, "no program %s", programs[i]);
	owned_fd int device = at_open_given("/dev/zfs", O_RDWR, 0, &err);
	if (device < 0)
		return probe_lacks(probe, "%s", err.text);
	probe_program(argv, probe);
}
