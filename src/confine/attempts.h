/*
 * attempts - records a denial for each connection that no listener accepts or that the kernel
 * refuses.
 */
#pragma once
#include "confine/proxy_priv.h"

/* Handle the reports of attempts that have arrived at the socket proxy->attempts. */
void attempts_note(struct proxy *proxy);
