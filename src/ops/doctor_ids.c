/* doctor_ids - check whether subordinate ids can be mapped into a user namespace. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "ops/doctor_priv.h"
#include "sandbox/account.h"

#define IDS_WANTED 65536 /* ids that the users and groups of a distribution need */

/*
 * Returns the first subordinate id of a user in /etc/subuid or /etc/subgid, or 0 if there is none.
 */
static unsigned subordinate_start(const char *file, struct str name, unsigned uid)
{
	owned_mem char *text = probe_read(file);
	uint32_t start, count;

	return text && account_range(str_of(text), name, uid, &start, &count) ? start : 0;
}

/* Start a process in a user namespace without an id map.  The caller kills the process. */
static pid_t unmapped_process(struct probe *probe)
{
	int ends[2];
	char ready = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = child_fork();
	if (pid == 0) {
		ready = unshare(CLONE_NEWUSER) == 0;
		(void)at_write_all(ends[1], &ready, 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &ready, 1) != 1 || !ready)
		probe_lacks(probe, "no user namespace to try it with");
	close(ends[0]);
	return pid;
}

static void map_as_root(pid_t pid, struct probe *probe)
{
	char path[64], map[64];

	snprintf(map, sizeof(map), "0 0 %d", IDS_WANTED);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	if (!probe_write(path, map, probe))
		return;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	if (probe_write(path, map, probe))
		probe_ok(probe, "root maps ids itself");
}

static void map_with(
	const char *program, pid_t pid, unsigned own, unsigned start, struct probe *probe)
{
	char text[3][16];

	snprintf(text[0], sizeof(text[0]), "%d", (int)pid);
	snprintf(text[1], sizeof(text[1]), "%u", own);
	snprintf(text[2], sizeof(text[2]), "%u", start);
	const char *argv[] = { program, text[0], "0", text[1], "1", "1", text[2], "1", NULL };

	probe_program(argv, probe);
}

static void map_as_user(pid_t pid, struct probe *probe)
{
	unsigned uid = geteuid(), gid = getegid();
	owned_mem char *passwd = probe_read("/etc/passwd");
	struct str name = account_name(str_of(passwd ? passwd : ""), uid);
	unsigned first_uid = subordinate_start("/etc/subuid", name, uid);
	unsigned first_gid = subordinate_start("/etc/subgid", name, uid);

	if (!first_uid || !first_gid)
		return probe_lacks(probe, "no entry for %.*s in /etc/%s",
			name.len ? (int)name.len : 9, name.len ? name.ptr : "this user",
			first_uid ? "subgid" : "subuid");
	map_with("newuidmap", pid, uid, first_uid, probe);
	if (probe->ok)
		map_with("newgidmap", pid, gid, first_gid, probe);
	if (probe->ok)
		probe_ok(probe, "uids from %u and gids from %u were mapped", first_uid, first_gid);
}

void doctor_ids_subordinate(struct doctor *doctor, struct probe *probe)
{
	pid_t pid = unmapped_process(probe);

	if (pid < 0)
		return probe_errno(probe, "fork");
	if (!probe->text[0] && geteuid() == 0)
		map_as_root(pid, probe);
	else if (!probe->text[0])
		map_as_user(pid, probe);
	(void)kill(pid, SIGKILL);
	(void)child_wait(pid);
}
