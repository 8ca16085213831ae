/*
 * main - strata-agent, the program that is copied to other machines.
 *
 * The program is always linked statically, since those machines may not have strata's libraries.
 * It serves files under a policy, as "strata worker" does, and prints its version.
 */
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "core/own.h"
#include "core/param_argv.h"
#include "worker/workerrun.h"

static const char usage[] =
	"usage: strata-agent worker [--policy FILE] [--fd N | --socket PATH] [--root DIR]\n"
	"                           [--pool N] [--denials FD|FILE]\n"
	"       strata-agent version\n";

static void tell(void *arg, const char *text)
{
	fprintf(stderr, "strata-agent: worker: %s\n", text);
}

static void tell_ready(void *arg)
{
	printf("ready\n");
	fflush(stdout);
}

static int serve(int argc, char **argv)
{
	static const struct workerrun_face face = { .tell = tell, .ready = tell_ready };
	static const struct param none[] = { { 0 } };
	owned(arena_release) struct arena arena = { 0 };
	struct workerrun_request request = { 0 };
	struct param_reader own = {
		.params = workerrun_params, .arena = &arena, .request = &request
	};
	struct param_reader other = { .params = none, .request = &request };
	struct err err = { 0 };
	bool help = false;
	int r = param_argv_read(&own, &other, &help, argc, argv, &err);

	if (r >= 0)
		r = workerrun_check(&request, &err);
	if (r >= 0)
		r = workerrun_main(&request, &face, &err);
	if (err.code) {
		fprintf(stderr, "strata-agent: %s\n", err.text);
		if (err.hint[0])
			fprintf(stderr, "hint: %s\n", err.hint);
	}
	return r >= 0 ? r : err.code == ERR_USAGE ? 2 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version"))) {
		printf("strata-agent %s\n", STRATA_VERSION);
		return 0;
	}
	if (argc == 2 && (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc >= 2 && !strcmp(argv[1], "worker")) {
		limits_raise();
		return serve(argc - 1, argv + 1);
	}
	fputs(usage, stderr);
	return 2;
}
