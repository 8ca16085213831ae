/*
 * worker_fixture - a directory that a policy allows, a directory beside it that the policy denies,
 * and a gate.
 */
#pragma once
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "worker/fileops.h"
#include "worker/frame.h"

struct fixture {
	char *top; /* contains "in" and "out" */
	char *in;  /* the allowed directory, in which only in/secret is denied */
	const char *rules[1], *denied[1];
	struct policy policy;
	struct gate *gate;
	struct ticket ticket;
	struct arena arena;
	struct fileops ops;
	struct wire_reply reply;
	struct err err;
};

static inline char *fixture_path(const struct fixture *fixture, const char *name)
{
	return arena_printf((struct arena *)&fixture->arena, "%s/%s", fixture->top, name);
}

static inline struct str fixture_str(const struct fixture *fixture, const char *name)
{
	return str_of(fixture_path(fixture, name));
}

static inline void fixture_put(const struct fixture *fixture, const char *name, const char *text)
{
	int fd = open(fixture_path(fixture, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline void fixture_mkdir(const struct fixture *fixture, const char *name)
{
	assert_int_equal(mkdir(fixture_path(fixture, name), 0755), 0);
}

static inline void fixture_link(const struct fixture *fixture, const char *target, const char *name)
{
	assert_int_equal(symlink(target, fixture_path(fixture, name)), 0);
}

/* Returns the content of a file, read without the worker's code. */
static inline const char *fixture_get(const struct fixture *fixture, const char *name)
{
	char *text = arena_alloc((struct arena *)&fixture->arena, 4096);
	int fd = open(fixture_path(fixture, name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, 4095) >= 0);
	close(fd);
	return text;
}

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = mem_zalloc(sizeof(*fixture));
	char name[] = "/tmp/worker-test.XXXXXX";
	owned_fd int fd = -1;

	assert_non_null(mkdtemp(name));
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fixture->top = at_path_of(fd, &fixture->err);
	fixture->in = mem_printf("%s/in", fixture->top);
	fixture->rules[0] = fixture->in;
	fixture->denied[0] = mem_printf("%s/secret", fixture->in);
	fixture->policy.fs.allow_read = (struct policy_list){ fixture->rules, 1 };
	fixture->policy.fs.allow_write = fixture->policy.fs.allow_read;
	fixture->policy.fs.deny_read = (struct policy_list){ fixture->denied, 1 };
	fixture_mkdir(fixture, "in");
	fixture_mkdir(fixture, "out");
	fixture_mkdir(fixture, "in/secret");
	fixture_put(fixture, "in/secret/key", "secret");
	fixture_put(fixture, "out/file", "outside");
	assert_int_equal(
		gate_new(&fixture->policy, NULL, fixture->in, &fixture->gate, &fixture->err), 0);
	ticket_init(&fixture->ticket, -1);
	fixture->ops = (struct fileops){
		.gate = fixture->gate,
		.ticket = &fixture->ticket,
		.arena = &fixture->arena,
		.room = FRAME_MAX - 512,
	};
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;
	owned_mem char *command = mem_printf("rm -rf '%s'", fixture->top);

	gate_free(fixture->gate);
	assert_int_equal(system(command), 0);
	arena_release(&fixture->arena);
	free((char *)fixture->denied[0]);
	free(fixture->top);
	free(fixture->in);
	free(fixture);
	return 0;
}
