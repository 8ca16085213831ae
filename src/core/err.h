/*
 * err - the error type of all functions.
 *
 * A function that can fail returns an int: 0 or more on success, a negative error code on failure.
 * Its last parameter is a struct err, which it writes only on failure.  So one zeroed err can be
 * passed down a whole call chain.  The struct lives on the caller's stack and owns nothing.  So
 * nothing has to be freed, and an error is reported without allocating memory.
 */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

enum err_code {
	ERR_SYSTEM = 1,  /* a system call failed; see errno_value */
	ERR_NOT_FOUND,   /* the named thing does not exist */
	ERR_INVALID,     /* the caller's input is malformed */
	ERR_CORRUPT,     /* stored data cannot be decoded, or does not match its hash */
	ERR_DENIED,      /* policy refused the operation */
	ERR_UNSUPPORTED, /* this kernel or file system lacks a needed feature */
	ERR_LIMIT,       /* a named limit would be exceeded */
	ERR_BUSY,        /* another process holds a needed lock */
	ERR_USAGE,       /* the command line is wrong */
};

struct err {
	enum err_code code;
	int errno_value; /* only with ERR_SYSTEM; otherwise 0 */
	char text[512];  /* the message, with the outermost context first */
	char hint[256];  /* what the user can do; may be empty */
};

/* Fill in *err and return -code, so that callers can write: return err_set(err, ...). */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* As err_set with ERR_SYSTEM, and append the text of the current errno to the message. */
int err_errno(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
/* As err_errno, for an error number that a function returned. */
#define err_number(err, number, ...) (errno = (number), err_errno(err, __VA_ARGS__))

/*
 * As err_set with ERR_SYSTEM, but errno_value becomes 'number'.  The message does not have the text
 * of this errno, since the text would not help the user.
 */
int err_set_number(struct err *err, int number, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/*
 * Put context in front of an error that a callee has filled in.  Returns the error's negative code.
 */
int err_context(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

/* Whether the error means that a disk is full, or that the user's quota on a disk is used up. */
bool err_is_full(const struct err *err);

/*
 * Set the hint of an error that is already filled in.  A hint says what the user can do.  Returns
 * the error's negative code.
 */
int err_hint(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
