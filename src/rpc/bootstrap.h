/*
 * bootstrap - brings strata-agent to a host over the stream of an SSH session, and starts it there.
 *
 * Nothing has to be installed on the host.  The command of the session is a script for sh, which is
 * the same for all hosts.  It says hello on its stdout, receives the program on its stdin unless
 *the host has the program already, and becomes the agent.  Each side waits for the other at every
 *step, so no program there reads bytes that are meant for the next one.
 *
 *	here	the arguments of the agent, one on each line
 *	there	strata-bootstrap 1 hello KERNEL MACHINE have|need|changed
 *	here	the program, unless the host has it
 *	there	strata-bootstrap 1 ready cached|temporary
 *
 * Instead of each line from there may come "strata-bootstrap 1 fail WHAT WHY…".  After "ready", the
 * stream belongs to the agent.  Any other line means that a login file of the host prints text.
 *
 * The host keeps the program as ~/.cache/strata/agent-HASH (or below $XDG_CACHE_HOME), in a
 * directory of mode 0700, and compares its SHA-256 before each use.  "changed" says that this
 * comparison has failed, so the file is replaced.  If no cache can be kept, the program is put into
 * a new directory of mode 0700 below the first of some places that takes programs, and is removed
 * when the agent ends.
 */
#pragma once
#include "core/arena.h"
#include "core/param.h"
#include "rpc/agentfile.h"

/* The command of the session. */
const char *bootstrap_command(
	const struct agentfile *file, size_t arguments, bool sudo, struct arena *arena);
/* The first lines that are sent: the arguments. */
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
	bool changed; /* the host had a program that is not this one, under its name */
	bool cached;  /* the host keeps it */
};

/*
 * Take the next line from the host.  Returns a step, or an error in the words "WHAT: WHY", to which
 * the caller adds the name of the host.
 */
int bootstrap_line(struct bootstrap *bootstrap, struct str line, struct err *err);

/* Fill in the error that text on stdout comes before the first line of the protocol. */
int bootstrap_refuse_banner(struct str line, struct err *err);
