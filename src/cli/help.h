/*
 * help - the text of --help, compiled in from the man pages.
 *
 * The program tools/man2help writes the list help_pages at build time.  The list has one entry for
 * each man/strata-NAME.1.scd, and is sorted by name.  If the page man/strata.1.scd exists, its
 * entry has the name "strata".  A text consists of whole lines of at most 80 columns: the usage,
 * the summary and the options.
 */
#pragma once
#include <stddef.h>

struct help_page {
	const char *name; /* name of the command as the user types it */
	const char *text;
};

extern const struct help_page help_pages[]; /* the last entry has only NULLs */
extern const size_t help_pages_count;       /* number of entries without the last one */
