/*
 * reasons - why a trace is not complete, as sentences.  The same sentence is kept only once.
 *
 * Several threads may add reasons.
 */
#pragma once
#include <stddef.h>

#define REASONS_MAX 100 /* further reasons are only counted */

struct reasons;

struct reasons *reasons_new(void);
void reasons_free(struct reasons *reasons);
void reasons_add(struct reasons *reasons, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
size_t reasons_count(const struct reasons *reasons);
const char *reasons_get(const struct reasons *reasons, size_t index);
/* Returns how many reasons were only counted. */
size_t reasons_left_out(const struct reasons *reasons);
