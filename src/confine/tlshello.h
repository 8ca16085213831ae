/*
 * tlshello - the name of the server that a program asks for when it begins TLS (RFC 8446, 6066).
 *
 * The hello is the first message of the program, and not encrypted.  It may be split into several
 * records, and these into several packets.  The extension for encrypted names (ECH) hides a second
 * name from us; browsers always send this extension, filled with noise if they have no second name.
 * We look at the outer name, by which the server finds out who is to decrypt the other one.
 */
#pragma once
#include "confine/hostname.h"
#include "core/str.h"

#define TLSHELLO_MAX 16384                    /* bytes of the message; browsers send about 2000 */
#define TLSHELLO_BYTES_MAX (2 * TLSHELLO_MAX) /* bytes of the records with the message */

enum tlshello {
	TLSHELLO_OTHER,   /* the bytes are not the beginning of TLS */
	TLSHELLO_PARTIAL, /* more bytes are needed */
	TLSHELLO_WHOLE,
	TLSHELLO_BAD,
};

/*
 * Read the bytes that a program has sent so far.  If the hello is whole, name gets the text that
 * hostname_read makes of its server name, or "" if it has none.
 */
enum tlshello tlshello_read(struct str bytes, char name[HOSTNAME_MAX + 1]);
