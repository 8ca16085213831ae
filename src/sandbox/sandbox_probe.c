#include "sandbox/sandbox_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/sandbox.h"

#define NAME_MAX_PROBE 64

static int make_layers(int dir, const char *place, struct err *err)
{
	static const char *const names[] = { "lower/proc", "lower/dev", "lower/sys", "upper",
		"work", "run" };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		char path[NAME_MAX_PROBE + 32];

		snprintf(path, sizeof(path), "%s/%s", place, names[i]);
		r = at_mkdirs(dir, path, 0700, err);
	}
	return r;
}

/* In a child: entering a user namespace cannot be undone. */
static int start_and_end(int dir, const char *place, struct err *err)
{
	static const char *const lower[] = { "lower" };
	char why[SANDBOX_USER_WHY_MAX];
	struct sandbox sandbox = SANDBOX_INIT;
	enum sandbox_user user = sandbox_user_choose(why);
	int r = sandbox_user_enter(user, err);

	if (r < 0)
		return r;
	r = make_layers(dir, place, err);
	owned_fd int here = r < 0 ? r : at_open(dir, place, O_RDONLY | O_DIRECTORY, err);
	owned_fd int run = here < 0 ? here : at_open(here, "run", O_RDONLY | O_DIRECTORY, err);
	if (run < 0)
		return run;
	struct sandbox_plan plan = {
		.run = run,
		.name = "probe",
		.root = {
			.dir = here,
			.lower = lower,
			.n_lower = 1,
			.upper = "upper",
			.work = "work",
		},
	};
	r = sandbox_start(&plan, &sandbox, err);
	return r < 0 ? r : sandbox_kill(&sandbox, "init", err);
}

int sandbox_probe_overlay(int dir, struct err *err)
{
	struct err said = { 0 }, ignored = { 0 };
	char place[NAME_MAX_PROBE];
	int ends[2];

	snprintf(place, sizeof(place), ".probe-%d", (int)getpid());
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		(void)start_and_end(dir, place, &said);
		(void)at_remove_tree(dir, place, &ignored);
		(void)!write(ends[1], &said, sizeof(said));
		_exit(0);
	}
	close_fd(&ends[1]);
	ssize_t n = pid < 0 ? -1 : read(ends[0], &said, sizeof(said));
	close_fd(&ends[0]);
	if (pid < 0)
		return err_errno(err, "start a child");
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(said))
		return err_set(err, ERR_UNSUPPORTED, "the attempt to make a sandbox was cut off");
	if (said.code)
		*err = said;
	return -(int)said.code;
}
