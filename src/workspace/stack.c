#include "workspace/stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"

#define HEADER "strata-stack 1"

void stack_release(struct stack *stack)
{
	for (size_t i = 0; i < stack->n_lower; i++)
		free(stack->lower[i]);
	*stack = (struct stack){ 0 };
}

int stack_push(struct stack *stack, const char *path, struct err *err)
{
	if (stack->n_lower == STACK_LOWER_MAX)
		return err_set(
			err, ERR_LIMIT, "an overlay of more than %d layers", STACK_LOWER_MAX);
	if (!*path || strlen(path) >= STACK_PATH_MAX || strchr(path, '\n'))
		return err_set(err, ERR_INVALID, "'%s' cannot be a layer of an overlay", path);
	stack->lower[stack->n_lower++] = mem_strdup(path);
	return 0;
}

static int parse_line(struct stack *stack, char *line, struct err *err)
{
	char *value = strchr(line, ' ');
	char *end;

	if (!value)
		return err_set(err, ERR_CORRUPT, "a line without a value");
	*value++ = '\0';
	if (!strcmp(line, "lower"))
		return stack_push(stack, value, err);
	if (!strcmp(line, "tree"))
		return hash_parse(value, &stack->tree) ? 0 : err_set(err, ERR_CORRUPT, "no tree");
	if (!strcmp(line, "generation")) {
		stack->generation = (unsigned)strtoul(value, &end, 10);
		return *end ? err_set(err, ERR_CORRUPT, "no generation") : 0;
	}
	return 0; /* of a later strata */
}

static int parse(struct stack *stack, char *text, struct err *err)
{
	char *line = strsep(&text, "\n");
	int r = line && !strcmp(line, HEADER) ? 0 : err_set(err, ERR_CORRUPT, "another format");

	while (r >= 0 && (line = strsep(&text, "\n")))
		if (*line)
			r = parse_line(stack, line, err);
	if (r >= 0 && (!stack->n_lower || hash_is_none(&stack->tree)))
		r = err_set(err, ERR_CORRUPT, "it ends early");
	return r;
}

int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err)
{
	owned_mem char *text = NULL;
	owned_fd int fd = at_name_read(dirfd, name);

	*stack = (struct stack){ 0 };
	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		errno = -fd;
		return err_errno(err, "open '%s'", name);
	}
	text = mem_alloc(STACK_BYTES_MAX + 1);
	ssize_t n = at_pread_full(fd, text, STACK_BYTES_MAX, 0);
	if (n < 0) {
		errno = (int)-n;
		return err_errno(err, "read '%s'", name);
	}
	text[n] = '\0';
	if (parse(stack, text, err) < 0) {
		stack_release(stack);
		return err_context(err, "'%s'", name);
	}
	return 1;
}

int stack_write(int dirfd, const char *name, const struct stack *stack, struct err *err)
{
	owned(buf_release) struct buf text = { .max = STACK_BYTES_MAX };
	char hex[HASH_HEX], temporary[64];
	int r;

	buf_addf(&text, HEADER "\ntree %s\ngeneration %u\n", hash_hex(&stack->tree, hex),
		stack->generation);
	for (size_t i = 0; i < stack->n_lower; i++)
		buf_addf(&text, "lower %s\n", stack->lower[i]);
	snprintf(temporary, sizeof(temporary), ".%s", name);
	owned_fd int fd = at_create(dirfd, temporary, O_WRONLY | O_TRUNC, 0600, err);
	if (fd < 0)
		return fd;
	r = at_write_all(fd, text.data, text.len);
	if (r < 0) {
		errno = -r;
		return err_errno(err, "write '%s'", name);
	}
	r = at_fsync(fd, name, err);
	if (r >= 0)
		r = at_rename(dirfd, temporary, name, err);
	return r < 0 ? r : at_fsync(dirfd, name, err);
}
