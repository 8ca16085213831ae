/*
 * agentfile - finds the program strata-agent of this machine.  The program is sent to hosts that do
 * not have it.
 *
 * The file is identified by the SHA-256 of its content, so a host can keep it and recognise it.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "core/hash.h"
#include "core/str.h"

#define AGENTFILE_SIZE_MAX ((uint64_t)256 << 20)

struct agentfile {
	char *path;
	int fd;
	uint64_t size;
	char hash[HASH_HEX];
	/* e_machine of the ELF header; 0: the program is no ELF file, but for example a script */
	unsigned machine;
};

/*
 * Open the program at the path 'given'.  If 'given' is NULL, open the program at the path in
 * $STRATA_AGENT.  If this variable is empty or not set, open the file strata-agent beside the
 * running program.
 */
int agentfile_open(const char *given, struct agentfile *file, struct err *err);
void agentfile_close(struct agentfile *file);
/* Find the program as agentfile_open does.  Returns its path, which the caller frees, or NULL. */
char *agentfile_find(const char *given, struct err *err);
/*
 * Check that a host can execute the program.  'kernel' is the output of "uname -s" on the host, and
 * 'machine' that of "uname -m".  Returns 0 or ERR_UNSUPPORTED.
 */
int agentfile_fits(
	const struct agentfile *file, struct str kernel, struct str machine, struct err *err);
