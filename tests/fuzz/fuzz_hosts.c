/*
 * A hosts file is read, or is refused with the place of the mistake.  No text of a host can be
 * taken for an option.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "rpc/hosts.h"
#include "rpc/sshargv.h"

static void check_host(const struct hosts_host *host, struct arena *arena)
{
	struct param_texts agent = { 0 };
	size_t bad;

	if (!*host->name || *host->name == '-')
		abort();
	if (host->transport == HOSTS_SSH && (!*host->ssh_target || *host->ssh_target == '-'))
		abort();
	if (host->agent_path && *host->agent_path != '/')
		abort();
	for (size_t i = 0; i < host->restore_paths.count; i++)
		if (*host->restore_paths.list[i] != '/')
			abort();
	if (sshargv_refuse(&host->ssh_options, &bad))
		abort();
	sshargv_agent(host, "/agent", &(struct param_texts){ 0 }, arena, &agent);
	const char *command = sshargv_quote(&agent, arena);
	if (strchr(command, '\n'))
		abort();
	if (host->transport == HOSTS_SSH)
		sshargv_make(host, command, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(arena_release) struct arena arena = { 0 };
	struct hosts hosts;
	struct err err = { 0 };
	int r = hosts_parse(
		(struct str){ (const char *)data, size }, "hosts", &arena, &hosts, &err);

	if (r < 0) {
		if (err.code != ERR_LIMIT &&
			(err.code != ERR_INVALID || !strstr(err.text, "(line ")))
			abort();
		return 0;
	}
	for (size_t i = 0; i < hosts.count; i++)
		check_host(&hosts.list[i], &arena);
	return 0;
}
