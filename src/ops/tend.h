/*
 * tend - look after the layers of an environment beside the command that left them untidy.
 */
#pragma once

/* Start a process that does so and ends by itself; nobody waits for it. */
void tend_beside(int rootfd);
