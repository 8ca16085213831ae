/*
 * effects - what each kind of call does to its files, and what is recorded of that.
 */
#pragma once
#include "trace/observe/callview.h"

/*
 * Record the files of a call, and give contents that it will change to the saver.  Fills in the
 * results of the view.
 */
void effects_note(struct callview *view);
/* Whether the call may go on before it is looked at. */
bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about);
/* A process is about to execute this program: record it, its interpreter and its loader. */
void effects_note_execution(struct callview *view, struct pathmap_entry *entry);
