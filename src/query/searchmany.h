/*
 * searchmany - searches the files below a directory with several threads.
 *
 * The calling thread walks the tree, and gives the files to the threads in batches.  It reports
 * what they found in the order of the walk.  So the visits are those of a search with one thread.
 */
#pragma once
#include "query/search.h"

/* Whether a search can be done by several threads, and whether it would be faster. */
bool searchmany_possible(const struct search *search);
/* Search base as search_run does. */
int searchmany_run(struct search *search, struct str base, struct err *err);
