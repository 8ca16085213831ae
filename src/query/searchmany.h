/*
 * searchmany - searches the files below a directory with several threads.
 *
 * The calling thread walks the tree, and passes the files to the threads in batches.  It reports
 * the findings in the order of the walk.  So visit is called in the same order as in a search with
 * one thread.
 */
#pragma once
#include "query/search.h"

/* Whether several threads can do this search, and whether that would be faster. */
bool searchmany_possible(const struct search *search);
/* Search base as search_run does. */
int searchmany_run(struct search *search, struct str base, struct err *err);
