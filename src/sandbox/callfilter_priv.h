/* callfilter_priv - the tables that tools/mkcallfilter.c generates for callfilter.c. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/callfilter.h"

#define CALLFILTER_NONE (-1)

/*
 * A call that the listener is notified of.  Each of the last four members is the number of an
 * argument of the call, counted from 0, or CALLFILTER_NONE.
 */
struct callfilter_call {
	uint32_t nr;
	const char *name;
	bool denied;
	/* the directory that 'path' begins in; if there is no path, the file itself */
	int8_t dirfd;
	int8_t path, dirfd2, path2;
};

struct callfilter_calls {
	uint32_t arch; /* AUDIT_ARCH_* */
	const struct callfilter_call *list;
	size_t n;
};

extern const struct callfilter_calls callfilter_calls[2];
extern const struct sock_fprog callfilter_programs[CALLFILTER_VARIANTS];
