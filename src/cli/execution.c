#include "cli/execution.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/text.h"
#include "ops/requests.h"

#define STATUS_UNCOMMITTED 1

bool execution_is_raw(const void *request)
{
	return true;
}

/*
 * Whether a program can reach other files through a descriptor.  It can if the descriptor is a
 * directory.  It can also open the file of an O_PATH descriptor through /proc.
 */
static bool leads_on(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	return flags >= 0 && ((flags & O_PATH) || (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)));
}

void execution_warn(void)
{
	static const char *const names[] = { "input", "output", "error" };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		struct err unknown = { 0 }, warning = { 0 };

		if (!leads_on(fd))
			continue;
		owned_mem char *path = at_path_of(fd, &unknown);
		err_set(&warning, ERR_DENIED,
			"standard %s (descriptor %d) is '%s' of this machine, and is passed on",
			names[fd], fd, path ? path : "a directory");
		err_hint(&warning, "through it the command reaches this machine's files; "
				   "'</dev/null' passes nothing on");
		output_error(&warning);
	}
}

int execution_print(struct output *out, const void *request, const void *result)
{
	const struct exec_request *req = request;
	const struct exec_result *res = result;

	if (!req->quiet)
		output_lines(res->degraded);
	if (res->sandbox.failure) {
		output_error(&res->why);
		return res->sandbox.failure;
	}
	if (res->sandbox.timed_out)
		fprintf(stderr, "strata: the command took longer than %lld s\n",
			(long long)res->sandbox.timeout_ms / 1000);
	if (res->sandbox.points_made && !req->quiet)
		fprintf(stderr, "strata: made %d mount point%s, which stay%s in the environment\n",
			res->sandbox.points_made, res->sandbox.points_made == 1 ? "" : "s",
			res->sandbox.points_made == 1 ? "s" : "");
	if (res->made && !req->quiet && !out->json)
		fprintf(stderr, "node %s\n", res->node.node->id);
	if (res->uncommitted)
		fprintf(stderr, "strata: what changed is in no node: %s\n", res->uncommitted);
	output_denied(res->denials, res->n_denials);
	if (res->untraced)
		fprintf(stderr, "strata: there is no trace: %s\n", res->untraced);
	return res->uncommitted && !res->sandbox.status ? STATUS_UNCOMMITTED : res->sandbox.status;
}
