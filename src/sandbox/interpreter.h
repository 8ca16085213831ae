/*
 * interpreter - finds the second file that the kernel opens to execute a program.  This is the
 * interpreter in a script's first line, or the loader that an ELF program asks for.
 */
#pragma once
#include <stdbool.h>

/*
 * Find the interpreter of the program with the descriptor 'fd', and copy its path unchanged to
 * 'out' (PATH_MAX bytes).  Returns false if the program has no interpreter.  The content of the
 * program is not trusted.
 */
bool interpreter_of(int fd, char *out);
