#include "workspace/stack.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/at.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const char *stack_tree_text(const struct hash *tree, char out[STACK_TREE])
{
	uint32_t bits = 0;
	int have = 0;
	char *p = out;

	for (size_t i = 0; i < HASH_SIZE; i++) {
		bits = bits << 8 | tree->bytes[i];
		for (have += 8; have >= 6; have -= 6)
			*p++ = digits[bits >> (have - 6) & 63];
	}
	*p++ = digits[bits << (6 - have) & 63];
	*p = '\0';
	return out;
}

bool stack_tree_parse(const char *text, struct hash *tree)
{
	uint32_t bits = 0;
	int have = 0;
	size_t n = 0;

	if (strlen(text) != STACK_TREE - 1)
		return false;
	for (; *text; text++) {
		const char *digit = strchr(digits, *text);

		if (!digit)
			return false;
		bits = bits << 6 | (uint32_t)(digit - digits);
		have += 6;
		if (have >= 8 && n < HASH_SIZE) {
			have -= 8;
			tree->bytes[n++] = (uint8_t)(bits >> have);
		}
	}
	return n == HASH_SIZE;
}

int stack_read_text(int dirfd, const char *name, char text[STACK_TEXT], struct err *err)
{
	ssize_t n = at_name_readlink(dirfd, name, text, STACK_TEXT - 1);

	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return err_number(err, (int)-n, "read '%s'", name);
	text[n] = '\0';
	return 1;
}

int stack_write_text(int dirfd, const char *name, const char *text, bool durable, struct err *err)
{
	char temporary[STACK_TEXT];

	/*
	 * The temporary name contains the process id, so that two processes can write the same link
	 * at the same time.
	 */
	snprintf(temporary, sizeof(temporary), ".%s.%d", name, (int)getpid());
	if (unlinkat(dirfd, temporary, 0) < 0 && errno != ENOENT)
		return err_errno(err, "remove '%s'", temporary);
	if (symlinkat(text, dirfd, temporary) < 0)
		return err_errno(err, "write '%s'", name);
	int r = at_rename(dirfd, temporary, name, err);
	return r >= 0 && durable ? at_fsync(dirfd, name, err) : r;
}

int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err)
{
	char text[STACK_TEXT];
	int end = 0;
	int r = stack_read_text(dirfd, name, text, err);

	if (r <= 0)
		return r;
	if (sscanf(text, "%u.%u.%u.%n", &stack->base, &stack->generation, &stack->top, &end) != 3 ||
		!end) {
		stack->top = STACK_TOP_UNKNOWN;
		end = 0;
		(void)sscanf(text, "%u.%u.%n", &stack->base, &stack->generation, &end);
	}
	if (!end || !stack_tree_parse(text + end, &stack->tree))
		return err_set(err, ERR_CORRUPT, "'%s' is malformed", name);
	return 1;
}

int stack_write(
	int dirfd, const char *name, const struct stack *stack, bool durable, struct err *err)
{
	char text[STACK_TEXT], tree[STACK_TREE];

	snprintf(text, sizeof(text), "%u.%u.%u.%s", stack->base, stack->generation, stack->top,
		stack_tree_text(&stack->tree, tree));
	return stack_write_text(dirfd, name, text, durable, err);
}
