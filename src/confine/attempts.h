/* attempts - denials of connections that nobody accepts, which the kernel refuses. */
#pragma once
#include "confine/proxy_priv.h"

/* The attempts that have been noticed at proxy->attempts. */
void attempts_note(struct proxy *proxy);
