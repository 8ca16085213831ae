/*
 * finding - what a check of doctor found out, and the ways to find out.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#define FINDING_TEXT 400
#define FINDING_NAME 32

struct finding {
	bool ok;
	char text[FINDING_TEXT];
};

__attribute__((format(printf, 2, 3))) void finding_has(
	struct finding *finding, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void finding_lacks(
	struct finding *finding, const char *fmt, ...);
/* A system call failed: what, and errno. */
void finding_failed(struct finding *finding, const char *what);

/* A name that nothing has, with a dot before it. */
void finding_new_name(char out[FINDING_NAME]);
/* A small text file, or NULL; owned. */
char *finding_read(const char *path);
bool finding_write(const char *path, const char *text, struct finding *finding);

struct doctor;
typedef void finding_try(struct doctor *doctor, struct finding *finding);

/* What cannot be undone in a process is tried in one of its own. */
void finding_by_child(struct doctor *doctor, finding_try *attempt, struct finding *finding);
/* Run a program, argv[0] along PATH; ok and the first line it prints, or why not. */
void finding_by_program(const char *const *argv, struct finding *finding);

struct finding_option {
	const char *key;   /* NULL: the end */
	const char *value; /* NULL: a flag */
};

/* A file system mounted nowhere, as a descriptor of its root; gone when that is closed. */
int finding_by_mount(
	const char *type, const struct finding_option *options, struct finding *finding);
