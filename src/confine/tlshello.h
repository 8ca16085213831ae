/*
 * tlshello - the name of the server that a program sends when it begins TLS (RFC 8446, 6066).
 *
 * The hello is the first message of the program, and is not encrypted.  It may be split into
 * several records, and each record into several packets.  The extension for encrypted names (ECH)
 * hides a second name.  Browsers always send this extension, filled with noise if they have no
 * second name.  So the name that is read here is the outer name, which is not encrypted.
 */
#pragma once
#include "confine/hostname.h"
#include "core/str.h"

#define TLSHELLO_MAX 16384                    /* bytes of the message; browsers send about 2000 */
#define TLSHELLO_BYTES_MAX (2 * TLSHELLO_MAX) /* bytes of all records that carry the message */

enum tlshello {
	TLSHELLO_OTHER,   /* the bytes do not begin TLS */
	TLSHELLO_PARTIAL, /* more bytes have to arrive */
	TLSHELLO_WHOLE,
	TLSHELLO_BAD,
};

/*
 * Read the bytes that a program has sent so far.  If the whole hello has arrived, 'name' is set to
 * its server name, in the form of hostname_read, or to "" if it has none.
 */
enum tlshello tlshello_read(struct str bytes, char name[HOSTNAME_MAX + 1]);
