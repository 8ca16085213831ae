/*
 * effects - what each call does to the files that it names, and what is recorded of it.
 */
#pragma once
#include "trace/observe/callview.h"

/*
 * Record the files of a call, and give what it will change to the saver.  Fills in the results of
 * the view.
 */
void effects_note(struct callview *view);
/* Whether the call may be over by the time it is looked at. */
bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about);
/* A process is about to execute this program: record it, and what the kernel opens with it. */
void effects_note_execution(struct callview *view, struct pathmap_entry *entry);
