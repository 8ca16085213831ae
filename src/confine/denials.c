#include "confine/denials.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"

#define AGAIN_NS WHEN_SECOND   /* pause before the same denial is written again */
#define LINES_A_SECOND_MAX 200 /* maximum number of lines that are written in one second */
#define OTHERS_MAX 256         /* slots of a hash table; a power of two */

/* When a denial was last written, and how often it has happened. */
struct told {
	uint64_t key; /* a hash of the denial */
	int64_t written;
	uint64_t times, said; /* 'said' is the value of 'times' in the last written line */
};

struct denials {
	int sinks[DENIALS_SINKS_MAX];
	size_t n_sinks;
	struct denial kept[DENIALS_KEPT_MAX];
	struct told kept_told[DENIALS_KEPT_MAX];
	size_t n;
	uint64_t total;
	/*
	 * A hash table for the denials that are not in the list 'kept'.  A new denial takes the
	 * slot of an older one.
	 */
	struct told others[OTHERS_MAX];
	int64_t second; /* the start of the second that lines are counted in */
	unsigned lines;
};

struct denials *denials_new(int sink)
{
	struct denials *denials = mem_zalloc(sizeof(*denials));

	denials_add_sink(denials, sink);
	return denials;
}

void denials_add_sink(struct denials *denials, int sink)
{
	if (sink >= 0 && denials->n_sinks < DENIALS_SINKS_MAX)
		denials->sinks[denials->n_sinks++] = sink;
}

void denials_free(struct denials *denials)
{
	if (!denials)
		return;
	for (size_t i = 0; i < denials->n; i++) {
		free((void *)denials->kept[i].what);
		free((void *)denials->kept[i].subject);
	}
	free(denials);
}

/* ------------------------------------------------------------- writing lines */

static bool is_grant(const struct denial *denial)
{
	return !strcmp(denial->what, "grant") || !strcmp(denial->what, "revoke");
}

static bool is_about_a_host(const struct denial *denial)
{
	return !strcmp(denial->what, "connect") || !strcmp(denial->what, "resolve") ||
	       (is_grant(denial) && !denial->access);
}

static bool is_about_a_path(const struct denial *denial)
{
	return denial->access || !strcmp(denial->what, "read") || !strcmp(denial->what, "write") ||
	       !strcmp(denial->what, "execute");
}

/* Write the members "host" and "port".  A subject is "HOST:PORT", "[ADDRESS]:PORT" or "HOST". */
static void write_host(struct json *out, const char *subject)
{
	const char *colon = strrchr(subject, ':');
	struct str host = str_of(subject);
	char *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	const bool has_port = colon && end != colon + 1 && !*end;

	if (has_port)
		host.len = (size_t)(colon - subject);
	if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = (struct str){ host.ptr + 1, host.len - 2 };
	json_str(out, "host", host);
	if (has_port)
		json_uint(out, "port", port);
}

void denials_json(struct json *out, const struct denial *denial)
{
	json_text(out, "what", denial->what);
	if (is_about_a_host(denial)) {
		write_host(out, denial->subject);
	} else if (is_about_a_path(denial)) {
		json_str(out, "path", str_of(denial->subject));
		json_text(out, "access", denial->access ? denial->access : denial->what);
	} else {
		json_str(out, "name", str_of(denial->subject));
	}
	json_str(out, "rule", str_of(denial->rule));
	if (denial->remedy[0])
		json_str(out, "remedy", str_of(denial->remedy));
	if (denial->pid)
		json_int(out, "pid", denial->pid);
	json_uint(out, "times", denial->times);
}

/*
 * Write a line.  A line that cannot be written at once is dropped, since a command must not wait
 * for a reader of its denials.
 */
static void write_to(int fd, const struct buf *line)
{
	struct pollfd sink = { .fd = fd, .events = POLLOUT };

	if (poll(&sink, 1, 0) != 1 || sink.revents != POLLOUT)
		return;
	/* The lock works for a regular file only.  The reader of the file may be emptying it. */
	bool locked = flock(fd, LOCK_EX) == 0;
	(void)!write(fd, line->data, line->len);
	if (locked)
		(void)flock(fd, LOCK_UN);
}

static void write_line(const struct denials *denials, const struct denial *denial)
{
	owned(json_release) struct json line = JSON_INIT;
	char time[WHEN_ISO];

	json_open(&line, NULL, '{');
	json_text(&line, "time", when_iso(when_now(), time));
	denials_json(&line, denial);
	json_close(&line);
	if (json_end(&line) < 0)
		return;
	for (size_t i = 0; i < denials->n_sinks; i++)
		write_to(denials->sinks[i], &line.out);
}

static bool may_write(struct denials *denials, struct told *told)
{
	const int64_t now = when_monotonic();

	if (!denials->n_sinks || (told->written && now - told->written < AGAIN_NS))
		return false;
	if (now - denials->second >= WHEN_SECOND) {
		denials->second = now;
		denials->lines = 0;
	}
	if (denials->lines >= LINES_A_SECOND_MAX)
		return false;
	denials->lines++;
	told->written = now;
	return true;
}

/* ------------------------------------------------------------ noting denials */

static uint64_t key_of(const struct denial *denial)
{
	const char *const parts[] = { denial->what, denial->subject, denial->rule };
	struct hash_stream *stream = hash_stream_new();
	struct hash hash;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		hash_stream_add(stream, parts[i], strlen(parts[i]) + 1);
	hash_stream_finish(stream, &hash);
	return hash_prefix(&hash);
}

static struct denial *find_kept(struct denials *denials, uint64_t key, struct told **told)
{
	for (size_t i = 0; i < denials->n; i++)
		if (denials->kept_told[i].key == key) {
			*told = &denials->kept_told[i];
			return &denials->kept[i];
		}
	return NULL;
}

static struct denial *keep(
	struct denials *denials, const struct denial *denial, uint64_t key, struct told **told)
{
	struct denial *kept = &denials->kept[denials->n];

	*kept = *denial;
	kept->what = mem_strdup(denial->what);
	kept->subject = mem_strdup(denial->subject);
	*told = &denials->kept_told[denials->n++];
	**told = (struct told){ .key = key };
	return kept;
}

static struct told *find_other(struct denials *denials, uint64_t key)
{
	struct told *told = &denials->others[key & (OTHERS_MAX - 1)];

	if (told->key != key)
		*told = (struct told){ .key = key };
	return told;
}

void denials_add(struct denials *denials, const char *what, const char *subject,
	const struct verdict *verdict, int pid)
{
	struct denial denial = { .what = what, .subject = subject, .pid = pid };
	struct told *told;

	memcpy(denial.rule, verdict->rule, sizeof(denial.rule));
	memcpy(denial.remedy, verdict->remedy, sizeof(denial.remedy));
	const uint64_t key = key_of(&denial);
	struct denial *kept = find_kept(denials, key, &told);

	if (!kept && denials->n < DENIALS_KEPT_MAX)
		kept = keep(denials, &denial, key, &told);
	if (!kept)
		told = find_other(denials, key);
	denials->total++;
	denial.times = ++told->times;
	if (kept)
		kept->times = told->times;
	if (may_write(denials, told)) {
		told->said = told->times;
		write_line(denials, &denial);
	}
}

void denials_flush(struct denials *denials)
{
	for (size_t i = 0; i < denials->n; i++) {
		struct told *told = &denials->kept_told[i];

		if (told->said == told->times)
			continue;
		told->said = told->times;
		write_line(denials, &denials->kept[i]);
	}
}

void denials_note(struct denials *denials, const struct denial *line)
{
	struct denial once = *line;

	once.times = 1;
	write_line(denials, &once);
}

const struct denial *denials_list(const struct denials *denials, size_t *n, uint64_t *total)
{
	*n = denials->n;
	*total = denials->total;
	return denials->kept;
}
