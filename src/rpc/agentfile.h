/*
 * agentfile - the program strata-agent of this machine, which is sent to hosts that have none.
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
	unsigned machine; /* e_machine of its ELF header; 0 if it has none, such as a script */
};

/*
 * Open the program that given names, or else $STRATA_AGENT, or else the strata-agent beside the
 * running program.
 */
int agentfile_open(const char *given, struct agentfile *file, struct err *err);
void agentfile_close(struct agentfile *file);
/* Only find its path, which the caller frees.  Returns NULL on failure. */
char *agentfile_find(const char *given, struct err *err);
/*
 * Whether a host can execute the program, as far as "uname -s" and "uname -m" there tell.  Returns
 * 0 or ERR_UNSUPPORTED.
 */
int agentfile_fits(
	const struct agentfile *file, struct str kernel, struct str machine, struct err *err);
