/*
 * help - the text of --help, compiled in from the man pages.
 *
 * tools/man2help writes the definitions at build time, one entry for each
 * man/strata-NAME.1.scd in order of name; man/strata.1.scd, if there is one, is
 * "strata".  Text is whole lines of at most 80 columns: usage, summary, options.
 */
#pragma once
#include <stddef.h>

struct help_page {
	const char *name; /* of the command, as typed */
	const char *text;
};

extern const struct help_page help_pages[]; /* ends with an entry of NULLs */
extern const size_t help_pages_count;       /* without the entry of NULLs */
