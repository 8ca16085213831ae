/*
 * bootstrap - brings strata-agent to a host over the stream of an SSH session, and starts it there.
 *
 * Nothing has to be installed on the host.  The command of the session is a script for sh.  The
 * script is the same for all hosts.  The script writes "hello" to its stdout, receives the program
 * on its stdin unless the host has the program already, and becomes the agent.  At every step each
 * side waits for the other, so no program on the host reads bytes that are meant for the next
 * program.
 *
 *	here	the arguments of the agent, one on each line
 *	there	strata-bootstrap 1 hello KERNEL MACHINE have|need|changed
 *	here	the program, unless the host has it
 *	there	strata-bootstrap 1 ready cached|temporary
 *
 * Instead of any line from the host, "strata-bootstrap 1 fail WHAT WHY…" may come.  After "ready",
 * the stream belongs to the agent.  Any other line before that means that a login file of the host
 * prints text.
 *
 * The host keeps the program in a directory of mode 0700, as ~/.cache/strata/agent-HASH or below
 * $XDG_CACHE_HOME, and compares its SHA-256 before each use.  "changed" means that the SHA-256 was
 * wrong, so the file is replaced.  If the host cannot keep the program, the program is put into a
 * new directory of mode 0700 and is removed when the agent ends.  Several places are tried for this
 * directory.  The first one where files can be made and executed is used.
 */
#pragma once
#include "core/arena.h"
#include "core/param.h"
#include "rpc/agentfile.h"

/* Returns the command of the session. */
const char *bootstrap_command(
	const struct agentfile *file, size_t arguments, bool sudo, struct arena *arena);
/* Append the arguments, which are the first lines to be sent. */
void bootstrap_arguments(const struct param_texts *arguments, struct buf *out);

enum bootstrap_step {
	BOOTSTRAP_SEND = 1, /* the program is to be sent now */
	BOOTSTRAP_WAIT,     /* nothing is to be sent */
	BOOTSTRAP_READY,    /* the stream belongs to the agent from now on */
};

struct bootstrap {
	const struct agentfile *file;
	bool greeted;
	bool sent;    /* the host did not have the program */
	bool changed; /* the host had another file under the name of the program */
	bool cached;  /* the host keeps the program */
};

/*
 * Take the next line from the host.  Returns a step or an error.  The error has the form "WHAT:
 * WHY", to which the caller must add the name of the host.
 */
int bootstrap_line(struct bootstrap *bootstrap, struct str line, struct err *err);

/* Fill in the error for a text on stdout before the first line of the protocol. */
int bootstrap_refuse_banner(struct str line, struct err *err);
