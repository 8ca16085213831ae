/*
 * reasons - why a trace is not complete, in sentences; said once each.
 *
 * Several threads may add.
 */
#pragma once
#include <stddef.h>

#define REASONS_MAX 100 /* then only the number of further ones is kept */

struct reasons;

struct reasons *reasons_new(void);
void reasons_free(struct reasons *reasons);
void reasons_add(struct reasons *reasons, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
size_t reasons_count(const struct reasons *reasons);
const char *reasons_get(const struct reasons *reasons, size_t index);
/* Those that were too many to be kept. */
size_t reasons_left_out(const struct reasons *reasons);
