/*
 * main - strata-agent: the part of strata that is carried to other machines.
 *
 * The program is always linked statically, since those machines may lack strata's libraries.  So
 * far it only prints its version.
 */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version"))) {
		printf("strata-agent %s\n", STRATA_VERSION);
		return 0;
	}
	if (argc == 2 && (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help"))) {
		printf("usage: strata-agent version\n");
		return 0;
	}
	fprintf(stderr, "strata-agent: usage: strata-agent version\n");
	return 2;
}
