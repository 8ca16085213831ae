/* doctor - print which features work on this machine, after trying them. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct doctor_row *check = row;

	output_style(out, check->ok ? OUTPUT_GOOD : OUTPUT_BAD);
	printf("%-4s", check->ok ? "yes" : "no");
	output_style(out, OUTPUT_PLAIN);
	printf(" %-18s %s\n", check->name, check->detail);
	if (check->remedy)
		printf("     %-18s %s\n", "", check->remedy);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.op = &op_doctor,
	.row = print_row,
};
