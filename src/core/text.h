/* text - bytes for people and back: quoting of odd names, sizes, globs, UTF-8. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/str.h"

/* Length of the valid UTF-8 sequence at the start of text (1..4), 0 if it is not one. */
size_t text_utf8_length(struct str text);
bool text_is_utf8(struct str text);

/*
 * A name as a terminal or a line-based reader may see it: as it is when it is
 * printable UTF-8 without quote, backslash or control characters; else in double quotes with
 * \n \t \" \\ and \ooo octal escapes (as git does).  No output ever contains a raw
 * control character, so a file name cannot drive a terminal or forge a line.
 */
void text_quote(struct buf *out, struct str name);

/* Base64 with padding (RFC 4648). */
void text_base64(struct buf *out, struct str bytes);
/* Decode base64; false, with out unchanged, if text is not exactly base64. */
bool text_unbase64(struct buf *out, struct str text);

/* "4.2 KiB"; fixed buffer of at least 16 bytes. */
const char *text_size(uint64_t bytes, char out[16]);

/* A byte count as typed: 4096, 64K, 10M, 2G, 1T, optional "iB"/"B"; false if malformed. */
bool text_parse_size(const char *text, uint64_t *bytes);

/*
 * Shell pattern against a whole path or name, bytewise.  '*' and '?' do not
 * match '/', '**' does, and '**' as a whole component stands for any number of
 * them, none included; [a-z] [!a-z] [^a-z] classes, {a,b} alternatives, '\' quotes.
 * A bracket or brace that is not closed stands for itself.
 * Linear in practice: backtracking is bounded by TEXT_GLOB_STEPS (no match then).
 */
#define TEXT_GLOB_STEPS 100000
bool text_glob(struct str pattern, struct str path);

/*
 * fnmatch as query.md defines find_files: on the base name; '*' matches anything, '?' and
 * [a-z] [!a-z] one character (or one byte that is not UTF-8); '^', '{' and '\' are literal.
 */
bool text_fnmatch(struct str pattern, struct str name);
