/*
 * reasons - the list of reasons why a bundle is incomplete.  Each reason is a sentence.  Equal
 * sentences are kept only once.
 *
 * Several threads may add reasons at the same time.
 */
#pragma once
#include <stddef.h>

#define REASONS_MAX 100 /* when the list is full, further reasons are only counted */

struct reasons;

struct reasons *reasons_new(void);
void reasons_free(struct reasons *reasons);
void reasons_add(struct reasons *reasons, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
size_t reasons_count(const struct reasons *reasons);
const char *reasons_get(const struct reasons *reasons, size_t index);
/* Returns the number of reasons that were counted but not kept. */
size_t reasons_left_out(const struct reasons *reasons);
