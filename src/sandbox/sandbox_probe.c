#include "sandbox/sandbox_probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
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

/*
 * Start a sandbox and end it.  Call this in a child, because entering a user namespace cannot be
 * undone.
 */
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

struct attempt {
	int dir;
	char place[NAME_MAX_PROBE];
};

static int attempt_overlay(void *arg, struct err *err)
{
	struct attempt *attempt = arg;
	struct err ignored = { 0 };
	int r = start_and_end(attempt->dir, attempt->place, err);

	(void)at_remove_tree(attempt->dir, attempt->place, &ignored);
	return r;
}

int sandbox_probe_overlay(int dir, struct err *err)
{
	struct attempt attempt = { .dir = dir };

	snprintf(attempt.place, sizeof(attempt.place), ".probe-%d", (int)getpid());
	return child_do(attempt_overlay, &attempt, err);
}
