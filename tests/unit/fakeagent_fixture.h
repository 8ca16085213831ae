/*
 * fakeagent_fixture - an agent to which requests say what it shall do.
 *
 * The agent is a script.  A request with "die" ends it, and one with "die-once" ends only the first
 * agent.  "wait" gets no answer, "wrong" an error, "noise" a line that is no reply.  The result of
 * any other request is its parameters.  The file log beside the agent has all lines it has read.
 */
#pragma once
#include <stdio.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "core/own.h"

#define FAKEAGENT                                                                                  \
	"echo start >>log\n"                                                                       \
	"while read -r line; do\n"                                                                 \
	"  printf '%s\\n' \"$line\" >>log\n"                                                       \
	"  id=${line#*'\"id\":'}; id=${id%%,*}\n"                                                  \
	"  case $line in\n"                                                                        \
	"  *agent_info*) echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"                          \
	"{\"agent_version\":\"7\",\"protocol_version\":\"1\"}}';;\n"                               \
	"  *die-once*) [ -e died ] || { : >died; echo gone >&2; exit 3; }; echo "                  \
	"\"{\\\"id\\\":$id,\\\"result\\\":{}}\";;\n"                                               \
	"  *die*) echo gone >&2; exit 3;;\n"                                                       \
	"  *wait*) ;;\n"                                                                           \
	"  *cancel*) id=${line##*'\"id\":'}; id=${id%%\\}*}; echo "                                \
	"\"{\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-32003,\\\"message\\\":\\\"cancelled\\\"}}" \
	"\";;\n"                                                                                   \
	"  *wrong*) echo \"{\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-32002,\\\"message\\\":"    \
	"\\\"no path\\\",\\\"data\\\":{\\\"hint\\\":\\\"look\\\"}}}\";;\n"                         \
	"  *noise*) echo noise;;\n"                                                                \
	"  *) printf '{\"id\":%s,\"result\":%s}\\n' $id \"${line##*params\\\":}\" | sed "          \
	"'s/}}$/}/';;\n"                                                                           \
	"  esac\n"                                                                                 \
	"done"

/* Write the script, to be run in its directory. */
static inline int fakeagent_write(const char *dir, const char *text)
{
	owned_mem char *path = mem_printf("%s/agent", dir);
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "#!/bin/sh\ncd %s\n%s\n", dir, text) < 0 || fclose(file) != 0)
		return -1;
	return chmod(path, 0755);
}
