/* tend - merges and drops layers of an environment, in the background after a command. */
#pragma once

/* Start a process that maintains the layers.  No other process waits for it. */
void tend_beside(int rootfd);
