/*
 * effects - records what each kind of call does to its files.
 */
#pragma once
#include "trace/observe/callview.h"

/*
 * Record the files of a call, and give the contents that it will change to the saver.  The results
 * of the view are filled in.
 */
void effects_note(struct callview *view);
/* Whether the call may go on before it is looked at. */
bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about);
/* Record a program that a process is about to execute, with its interpreter and its loader. */
void effects_note_execution(struct callview *view, struct pathmap_entry *entry);
