/* effects - records what each kind of system call does to the files that it names. */
#pragma once
#include "trace/observe/callview.h"

/*
 * Record the files of a call, and have the saver save the contents that the call will change.  The
 * results of the view are set.
 */
void effects_note(struct callview *view);
/* Whether the call may go on before it is examined. */
bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about);
/*
 * Record that a process is about to execute a program, with the program's interpreter and loader.
 */
void effects_note_execution(struct callview *view, struct pathmap_entry *entry);
