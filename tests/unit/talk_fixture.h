/*
 * talk_fixture - a child process whose standard input and output are pipes to the test.
 */
#pragma once
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/child.h"

struct talk {
	pid_t pid; /* 0: the child has ended */
	int to;    /* its standard input; -1: it is closed */
	FILE *from;
	struct arena arena;
};

/* Start a child that calls the function 'run'.  Returns 0, or -1 on failure. */
static inline int talk_begin(struct talk *talk, void (*run)(void *arg), void *arg)
{
	int in[2], out[2];

	if (pipe(in) < 0 || pipe(out) < 0)
		return -1;
	talk->pid = child_fork();
	if (talk->pid == 0) {
		if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
			_exit(9);
		for (int fd = 3; fd < 20; fd++)
			close(fd);
		run(arg);
		_exit(9);
	}
	close(in[0]);
	close(out[1]);
	talk->to = in[1];
	talk->from = fdopen(out[0], "r");
	return talk->pid < 0 ? -1 : 0;
}

static inline void talk_close_input(struct talk *talk)
{
	if (talk->to >= 0)
		close(talk->to);
	talk->to = -1;
}

static inline void talk_close_output(struct talk *talk)
{
	if (talk->from)
		fclose(talk->from);
	talk->from = NULL;
}

/* Returns the exit status of the child, or -1 if a signal ended it. */
static inline int talk_wait(struct talk *talk)
{
	alarm(60);
	int status = child_wait(talk->pid);
	alarm(0);
	talk->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void talk_end(struct talk *talk)
{
	talk_close_input(talk);
	talk_close_output(talk);
	if (talk->pid)
		(void)talk_wait(talk);
	arena_release(&talk->arena);
}

static inline void talk_put(struct talk *talk, const char *text)
{
	assert_int_equal(write(talk->to, text, strlen(text)), (ssize_t)strlen(text));
}

/* Returns the next line without its end, or "(end)". */
static inline const char *talk_get(struct talk *talk)
{
	char line[4096];

	alarm(60);
	if (!fgets(line, sizeof(line), talk->from))
		return "(end)";
	alarm(0);
	line[strcspn(line, "\n")] = '\0';
	return arena_strdup(&talk->arena, line);
}

static inline void talk_expect(struct talk *talk, const char *line)
{
	assert_string_equal(talk_get(talk), line);
}

/* End the input, check that no line is left, and return the exit status of the child. */
static inline int talk_finish(struct talk *talk)
{
	talk_close_input(talk);
	talk_expect(talk, "(end)");
	return talk_wait(talk);
}
