/*
 * main - strata-agent, the program that is copied to other machines.
 *
 * The program is always linked statically, since those machines may not have strata's libraries.
 * The program serves files under a policy, as "strata worker" does.  It also answers questions
 * about snapshots, as "strata agent" does, and prints its version.
 */
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "core/own.h"
#include "core/param_argv.h"
#include "core/standard.h"
#include "query/families.h"
#include "rpc/queryserver.h"
#include "worker/workerrun.h"

static const char usage[] =
	"usage: strata-agent worker [--policy FILE] [--fd N | --socket PATH] [--root DIR]\n"
	"                           [--pool N] [--denials FD|FILE]\n"
	"       strata-agent query [--provider NAME]... [--folder [NAME=]DIR]...\n"
	"                          [--allow-restore DIR]... [--trust-mountpoints]\n"
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

/* --------------------------------------------------------------------- worker */

static int run_worker(const void *request, struct err *err)
{
	static const struct workerrun_face face = { .tell = tell, .ready = tell_ready };
	int r = workerrun_check(request, err);

	return r < 0 ? r : workerrun_main(request, &face, err);
}

/* ---------------------------------------------------------------------- query */

struct query_request {
	struct families_options families;
};

static const struct param query_params[] = {
	FAMILIES_PARAMS(query_request, families),
	{ 0 },
};

/*
 * The first call adds the families.  Later calls keep them, since each family finds new snapshots
 * by itself.
 */
static int refresh(void *arg, struct registry *registry, struct err *err)
{
	return registry->n_families ? 0 : families_add(arg, registry, err);
}

/* This program cannot open an environment. */
static int refuse_strata(const struct families_options *options, struct err *err)
{
	if (!options->providers.count || !families_wants(options, FAMILIES_STRATA))
		return 0;
	err_set(err, ERR_USAGE, "the provider 'strata' is not in this program");
	return err_hint(err, "'strata agent' of a complete strata has it");
}

static int run_query(const void *request, struct err *err)
{
	const struct query_request *req = request;
	owned(registry_release) struct registry registry = { 0 };
	owned(restoreroots_release) struct restoreroots restore = { 0 };
	struct answerer_source source = { refresh, (void *)&req->families, &restore };
	int r = families_check(&req->families, err);

	if (r >= 0)
		r = refuse_strata(&req->families, err);
	if (r >= 0)
		r = families_restore(&req->families, &restore, err);
	/* If a given folder of snapshots cannot be used, fail now instead of at each request. */
	if (r >= 0)
		r = families_add(&req->families, &registry, err);
	return r < 0 ? r : queryserver_run(&source, err);
}

/* ------------------------------------------------------------------------ main */

static const struct mode {
	const char *name;
	const struct param *params;
	/* Returns an exit status, or a negative error. */
	int (*run)(const void *request, struct err *err);
} modes[] = {
	{ "query", query_params, run_query },
	{ "worker", workerrun_params, run_worker },
};

union request {
	struct workerrun_request worker;
	struct query_request query;
};

static int run_mode(const struct mode *mode, int argc, char **argv)
{
	static const struct param none[] = { { 0 } };
	owned(arena_release) struct arena arena = { 0 };
	union request request = { 0 };
	struct param_reader own = { .params = mode->params, .arena = &arena, .request = &request };
	struct param_reader other = { .params = none, .request = &request };
	struct err err = { 0 };
	bool help = false;
	int r = standard_occupy(&err);

	if (r >= 0)
		r = param_argv_read(&own, &other, &help, argc, argv, &err);
	if (r >= 0)
		r = mode->run(&request, &err);
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
	for (size_t i = 0; argc >= 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			limits_raise();
			return run_mode(&modes[i], argc - 1, argv + 1);
		}
	fputs(usage, stderr);
	return 2;
}
