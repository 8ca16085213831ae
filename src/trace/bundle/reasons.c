#include "trace/bundle/reasons.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"

struct reasons {
	pthread_mutex_t mutex;
	char *texts[REASONS_MAX];
	size_t n_texts, left_out;
};

struct reasons *reasons_new(void)
{
	struct reasons *reasons = mem_zalloc(sizeof(*reasons));

	pthread_mutex_init(&reasons->mutex, NULL);
	return reasons;
}

void reasons_free(struct reasons *reasons)
{
	if (!reasons)
		return;
	for (size_t i = 0; i < reasons->n_texts; i++)
		free(reasons->texts[i]);
	pthread_mutex_destroy(&reasons->mutex);
	free(reasons);
}

static void add_text(struct reasons *reasons, const char *text)
{
	for (size_t i = 0; i < reasons->n_texts; i++)
		if (!strcmp(reasons->texts[i], text))
			return;
	if (reasons->n_texts < REASONS_MAX)
		reasons->texts[reasons->n_texts++] = mem_strdup(text);
	else
		reasons->left_out++;
}

void reasons_add(struct reasons *reasons, const char *fmt, ...)
{
	owned(buf_release) struct buf text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_addv(&text, fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&reasons->mutex);
	add_text(reasons, text.data);
	pthread_mutex_unlock(&reasons->mutex);
}

size_t reasons_count(const struct reasons *reasons)
{
	return reasons->n_texts;
}

const char *reasons_get(const struct reasons *reasons, size_t index)
{
	return reasons->texts[index];
}

size_t reasons_left_out(const struct reasons *reasons)
{
	return reasons->left_out;
}
