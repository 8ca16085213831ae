/*
 * hostrelay - passes the requests of one peer on to the agent of a host.
 *
 * The peer sees the relay as an agent of this machine (queryserver.h).  The relay reads and writes
 * the same lines and refuses the same requests.  It also answers while the host cannot be reached.
 * Requests are numbered anew on the way to the host, so that the peer may use any ids.
 */
#pragma once
#include "rpc/hostclient.h"

/*
 * Relay from standard input to standard output, as queryserver_run does.  The function 'notice' is
 * called with messages for people, and may be NULL.
 */
int hostrelay_run(const struct hosts_host *host, const struct hostlink_options *options,
	void (*notice)(void *arg, const char *text), void *arg, struct err *err);
