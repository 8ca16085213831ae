/* main - the program; dispatch.c does the rest. */
#include "cli/dispatch.h"
#include "core/limits.h"

int main(int argc, char **argv)
{
	limits_raise();
	return dispatch_run(argc, argv, false);
}
