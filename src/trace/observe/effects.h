/* effects - records the effects of each kind of system call on the files that it names. */
#pragma once
#include "trace/observe/callview.h"

/*
 * Record the files of a call, and have the saver save the contents that the call will change.  This
 * sets the members of the view that are marked as results.
 */
void effects_note(struct callview *view);
/* Whether the call may go on before it is examined. */
bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about);
/*
 * Record that a process is about to execute a program.  The interpreter and the loader of the
 * program are recorded, too.
 */
void effects_note_execution(struct callview *view, struct pathmap_entry *entry);
