/*
 * ways - what a call does to the files it names, and what is written down of it.
 */
#pragma once
#include "trace/sight.h"

/* Its files are recorded, what it will change is given to the saver (sight->number, may_change). */
void ways_see(struct sight *sight);
/* Whether the call may be over when it is seen. */
bool ways_can_wait(const struct observer_call *call, const struct syscalls_call *about);
/* The program that a process is about to execute, and what the kernel opens with it. */
void ways_execute(struct sight *sight, struct pathmap_entry *entry);
