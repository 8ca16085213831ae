/* main - the entry point of strata.  It calls dispatch_run. */
#include <stdlib.h>

#include "cli/dispatch.h"
#include "cli/output.h"
#include "core/limits.h"
#include "core/standard.h"

int main(int argc, char **argv)
{
	struct err err = { 0 };

	if (standard_occupy(&err) < 0) {
		output_error(&err);
		return EXIT_FAILURE;
	}
	limits_raise();
	return dispatch_run(argc, argv);
}
