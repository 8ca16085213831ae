#include "confine/denials.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"

#define AGAIN_NS WHEN_SECOND         /* pause before the same denial is written again */
#define LINES_A_SECOND_MAX 200       /* lines written in one second */
#define OWN_MAX ((size_t)1 << 20)    /* maximum size of a file of strata itself */
#define OWN_SPARE ((size_t)64 << 10) /* further bytes for lines that only count denials */
#define OTHERS_MAX 256               /* slots of a hash table; a power of two */

/* The time when a denial was last written, and the number of times that it has happened. */
struct told {
	uint64_t key; /* a hash of the denial */
	int64_t written;
	uint64_t times, said; /* 'said' is the value of 'times' in the last written line */
};

struct sink {
	int fd;
	enum denials_sink kind;
	uint64_t lost;  /* denials in lines that could not be written to this sink */
	int failed;     /* the errno of the first such line */
	uint64_t said;  /* the number in the last line about lost denials */
	uint64_t noted; /* the value of 'lost' that the other sinks have been told */
};

struct denials {
	struct sink sinks[DENIALS_SINKS_MAX];
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
	uint64_t unlisted; /* denials in no line, whose slot went to another denial */
	int64_t second;    /* the start of the second in which lines are counted */
	unsigned lines;
};

struct denials *denials_new(int sink)
{
	struct denials *denials = mem_zalloc(sizeof(*denials));

	denials_add_sink(denials, sink, DENIALS_GIVEN);
	return denials;
}

void denials_add_sink(struct denials *denials, int sink, enum denials_sink kind)
{
	if (sink >= 0 && denials->n_sinks < DENIALS_SINKS_MAX)
		denials->sinks[denials->n_sinks++] = (struct sink){ .fd = sink, .kind = kind };
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
 * Returns the errno that keeps a pipe or a socket from being written to at once, or 0.  A command
 * must not stop because nobody reads its denials.
 */
static int failure_of(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	if (poll(&ready, 1, 0) != 1)
		return EAGAIN;
	return ready.revents == POLLOUT ? 0 : EPIPE;
}

/*
 * Returns 0 if a line of this length can be written at once, or an errno.  A pipe that poll reports
 * as writable has room for PIPE_BUF bytes; a longer line might have to wait.
 */
static int check_room(const struct sink *sink, size_t len, size_t most)
{
	int error = failure_of(sink->fd);
	struct stat st;

	if (error)
		return error;
	if (fstat(sink->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return len <= PIPE_BUF ? 0 : EAGAIN;
	return sink->kind == DENIALS_GIVEN || (size_t)st.st_size + len <= most ? 0 : EFBIG;
}

/* Returns 0, or the errno that has kept the line from being written. */
static int write_to(const struct sink *sink, const struct buf *line, size_t most)
{
	int error = check_room(sink, line->len, most);

	if (error)
		return error;
	/* The lock matters only for a regular file, whose reader may be emptying it. */
	bool locked = flock(sink->fd, LOCK_EX) == 0;
	ssize_t n = write(sink->fd, line->data, line->len);
	error = n < 0 ? errno : n == (ssize_t)line->len ? 0 : ENOSPC;
	if (locked)
		(void)flock(sink->fd, LOCK_UN);
	return error;
}

static bool is_disk_full(int fd)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0 || !fs.f_blocks)
		return false;
	return !(geteuid() ? fs.f_bavail : fs.f_bfree);
}

int denials_check(int sink)
{
	int error = failure_of(sink);
	struct stat st;

	if (error || fstat(sink, &st) < 0)
		return error;
	/* A device such as /dev/full refuses even a write of no bytes. */
	if (S_ISCHR(st.st_mode) && write(sink, "", 0) < 0)
		return errno;
	return S_ISREG(st.st_mode) && is_disk_full(sink) ? ENOSPC : 0;
}

const char *denials_describe(int error)
{
	switch (error) {
	case EPIPE:
		return "its reader has gone";
	case EAGAIN:
		return "its reader is too slow, or a line is too long for it";
	default:
		return strerror(error);
	}
}

static int make_line(struct json *line, const struct denial *denial)
{
	char time[WHEN_ISO];

	json_open(line, NULL, '{');
	json_text(line, "time", when_iso(when_now(), time));
	denials_json(line, denial);
	json_close(line);
	return json_end(line);
}

static bool write_more(
	const struct sink *sink, const char *subject, const char *rule, uint64_t times)
{
	owned(json_release) struct json line = JSON_INIT;
	struct denial denial = { .what = DENIALS_MORE, .subject = subject, .times = times };

	snprintf(denial.rule, sizeof(denial.rule), "%s", rule);
	return make_line(&line, &denial) >= 0 &&
	       write_to(sink, &line.out, OWN_MAX + OWN_SPARE) == 0;
}

/* Write the number of denials that a sink has no line about, if the number has grown. */
static void say_lost(const struct denials *denials, struct sink *sink)
{
	const uint64_t lost = denials->unlisted + sink->lost;

	if (lost > sink->said &&
		write_more(sink, "denials that are not listed",
			"more than can be written in a second, or than their reader takes", lost))
		sink->said = lost;
}

/* Tell the other sinks that a sink of the caller could not be written to. */
static void note_lost(const struct denials *denials, struct sink *given)
{
	for (size_t i = 0; i < denials->n_sinks; i++)
		if (denials->sinks[i].kind == DENIALS_OWN)
			(void)write_more(&denials->sinks[i], "denials that --denials lacks",
				denials_describe(given->failed), given->lost);
	given->noted = given->lost;
}

/* Write a line about a denial that has happened 'news' times since its last line. */
static void write_line(struct denials *denials, const struct denial *denial, uint64_t news)
{
	owned(json_release) struct json line = JSON_INIT;

	if (make_line(&line, denial) < 0)
		return;
	for (size_t i = 0; i < denials->n_sinks; i++) {
		struct sink *sink = &denials->sinks[i];
		int error = write_to(sink, &line.out, OWN_MAX);

		sink->lost += error ? news : 0;
		sink->failed = sink->failed ? sink->failed : error;
	}
}

static void begin_second(struct denials *denials, int64_t now)
{
	denials->second = now;
	denials->lines = 0;
	/* The files of strata have a limit, so the number is written to them once, at the end. */
	for (size_t i = 0; i < denials->n_sinks; i++)
		if (denials->sinks[i].kind == DENIALS_GIVEN)
			say_lost(denials, &denials->sinks[i]);
}

static bool may_write(struct denials *denials, struct told *told)
{
	const int64_t now = when_monotonic();

	if (!denials->n_sinks || (told->written && now - told->written < AGAIN_NS))
		return false;
	if (now - denials->second >= WHEN_SECOND)
		begin_second(denials, now);
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

	if (told->key != key) {
		denials->unlisted += told->times - told->said;
		*told = (struct told){ .key = key };
	}
	return told;
}

static void say(struct denials *denials, struct told *told, const struct denial *denial)
{
	const uint64_t news = told->times - told->said;

	told->said = told->times;
	write_line(denials, denial, news);
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
	if (may_write(denials, told))
		say(denials, told, &denial);
}

void denials_flush(struct denials *denials)
{
	for (size_t i = 0; i < denials->n; i++)
		if (denials->kept_told[i].said != denials->kept_told[i].times)
			say(denials, &denials->kept_told[i], &denials->kept[i]);
	for (size_t i = 0; i < OTHERS_MAX; i++) {
		struct told *told = &denials->others[i];

		denials->unlisted += told->times - told->said;
		told->said = told->times;
	}
	for (size_t i = 0; i < denials->n_sinks; i++) {
		struct sink *sink = &denials->sinks[i];

		say_lost(denials, sink);
		if (sink->kind == DENIALS_GIVEN && sink->lost > sink->noted)
			note_lost(denials, sink);
	}
}

void denials_note(struct denials *denials, const struct denial *line)
{
	struct denial once = *line;

	once.times = 1;
	write_line(denials, &once, 1);
}

const struct denial *denials_list(const struct denials *denials, size_t *n, uint64_t *total)
{
	*n = denials->n;
	*total = denials->total;
	return denials->kept;
}
