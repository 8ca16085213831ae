#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "ops/doctor_priv.h"

#define IDS_WANTED 65536 /* what a distribution's users and groups need */

/* The name of a user, from /etc/passwd; owned, or NULL. */
static char *user_name(unsigned uid)
{
	owned_mem char *text = finding_read("/etc/passwd");

	for (const char *line = text; line && *line;) {
		unsigned id;
		char name[256];

		if (sscanf(line, "%255[^:\n]:%*[^:\n]:%u:", name, &id) == 2 && id == uid)
			return mem_strdup(name);
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return NULL;
}

/* The first id a user may map besides his own, from /etc/subuid or /etc/subgid; 0 when none. */
static unsigned subordinate_start(const char *file, const char *name, unsigned uid)
{
	owned_mem char *text = finding_read(file);
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	for (const char *line = text; line && *line;) {
		unsigned start, count;
		char who[256];

		if (sscanf(line, "%255[^:\n]:%u:%u", who, &start, &count) == 3 && count &&
			((name && !strcmp(who, name)) || !strcmp(who, number)))
			return start;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return 0;
}

/* A process in a user namespace without a map, waiting to be killed. */
static pid_t unmapped_process(struct finding *finding)
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
		finding_lacks(finding, "no user namespace to try it with");
	close(ends[0]);
	return pid;
}

static void map_as_root(pid_t pid, struct finding *finding)
{
	char path[64], map[64];

	snprintf(map, sizeof(map), "0 0 %d", IDS_WANTED);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	if (!finding_write(path, map, finding))
		return;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	if (finding_write(path, map, finding))
		finding_has(finding, "root maps ids itself");
}

static void map_with(
	const char *program, pid_t pid, unsigned own, unsigned start, struct finding *finding)
{
	char text[3][16];

	snprintf(text[0], sizeof(text[0]), "%d", (int)pid);
	snprintf(text[1], sizeof(text[1]), "%u", own);
	snprintf(text[2], sizeof(text[2]), "%u", start);
	const char *argv[] = { program, text[0], "0", text[1], "1", "1", text[2], "1", NULL };

	finding_by_program(argv, finding);
}

static void map_as_user(pid_t pid, struct finding *finding)
{
	unsigned uid = geteuid(), gid = getegid();
	owned_mem char *name = user_name(uid);
	unsigned first_uid = subordinate_start("/etc/subuid", name, uid);
	unsigned first_gid = subordinate_start("/etc/subgid", name, uid);

	if (!first_uid || !first_gid)
		return finding_lacks(finding, "no entry for %s in /etc/%s",
			name ? name : "this user", first_uid ? "subgid" : "subuid");
	map_with("newuidmap", pid, uid, first_uid, finding);
	if (finding->ok)
		map_with("newgidmap", pid, gid, first_gid, finding);
	if (finding->ok)
		finding_has(
			finding, "uids from %u and gids from %u were mapped", first_uid, first_gid);
}

void doctor_ids_subordinate(struct doctor *doctor, struct finding *finding)
{
	pid_t pid = unmapped_process(finding);

	if (pid < 0)
		return finding_failed(finding, "fork");
	if (!finding->text[0] && geteuid() == 0)
		map_as_root(pid, finding);
	else if (!finding->text[0])
		map_as_user(pid, finding);
	(void)kill(pid, SIGKILL);
	(void)child_wait(pid);
}
