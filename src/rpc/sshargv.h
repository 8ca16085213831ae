/*
 * sshargv - makes the command lines that start the agent of a host.
 *
 * On this machine, programs are run without a shell.  On the host, the login shell of the user gets
 * one text, in which every argument is quoted.
 */
#pragma once
#include "core/arena.h"
#include "core/param.h"

struct hosts_host;

/*
 * Check the options of ssh that a hosts file gives.  An item is an option of ssh or a setting of
 * ssh_config.  The argument of an option such as "-p" is in the same item or in the next item.  A
 * setting such as "Port=2222" becomes the argument of -o.  Returns NULL if all items can be used.
 * Otherwise returns the reason, and sets *bad to the index of the item.
 */
const char *sshargv_refuse(const struct param_texts *options, size_t *bad);

/*
 * Returns the arguments of ssh that run a command on a host, with a NULL at the end.  The command
 * is one text for the login shell of the host; see sshargv_quote.
 */
const char *const *sshargv_make(
	const struct hosts_host *host, const char *command, struct arena *arena);

/*
 * Join arguments to one command for a POSIX shell.  Arguments are quoted if necessary.  The
 * arguments must not contain control characters.
 */
const char *sshargv_quote(const struct param_texts *arguments, struct arena *arena);

/*
 * Add the arguments of an agent: "query", then "--allow-restore PATH" for each directory in which
 * the hosts file allows restores, and then the arguments in 'further'.
 */
void sshargv_options(const struct hosts_host *host, const struct param_texts *further,
	struct arena *arena, struct param_texts *argv);
/*
 * Add the program, and then the arguments that sshargv_options adds.  If hosts.toml asks for sudo,
 * "sudo -n --" comes first.
 */
void sshargv_agent(const struct hosts_host *host, const char *program,
	const struct param_texts *further, struct arena *arena, struct param_texts *argv);
