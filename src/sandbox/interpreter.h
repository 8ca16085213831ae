/*
 * interpreter - the other file the kernel opens when a program is executed: what
 * a script's first line names, or the loader an ELF program asks for.
 */
#pragma once
#include <stdbool.h>

/*
 * Its path, as written there, into out (PATH_MAX bytes); false when there is none.  The program
 * is as untrusted as the tree it is in.
 */
bool interpreter_of(int fd, char *out);
