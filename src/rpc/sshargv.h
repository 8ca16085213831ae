/*
 * sshargv - the command lines by which the agent of a host is started.
 *
 * Programs are run by their arguments, never by a shell of this machine.  On the other machine the
 * login shell of the user gets one text, in which every argument is quoted.
 */
#pragma once
#include "core/arena.h"
#include "core/param.h"

struct hosts_host;

/*
 * Check the options of ssh that a hosts file gives.  An item is an option of ssh ("-p", followed by
 * its argument in the same item or in the next one) or a setting of ssh_config ("Port=2222"), which
 * becomes the argument of -o.  Returns NULL if all can be used, or else the reason, and in *bad the
 * index of the item.
 */
const char *sshargv_refuse(const struct param_texts *options, size_t *bad);

/*
 * The arguments of ssh that run a command on a host, with a NULL at the end.  The command is one
 * text for the login shell there; see sshargv_quote.
 */
const char *const *sshargv_make(
	const struct hosts_host *host, const char *command, struct arena *arena);

/*
 * Join arguments to a command for a POSIX shell, each quoted if it needs to be.  The arguments have
 * no control characters.
 */
const char *sshargv_quote(const struct param_texts *arguments, struct arena *arena);

/*
 * Add the arguments of an agent: "query", the options for restores, which the hosts file gives, and
 * further ones.
 */
void sshargv_options(const struct hosts_host *host, const struct param_texts *further,
	struct arena *arena, struct param_texts *argv);
/* The same with the program before them, and "sudo -n --" before that if the host asks for it. */
void sshargv_agent(const struct hosts_host *host, const char *program,
	const struct param_texts *further, struct arena *arena, struct param_texts *argv);
