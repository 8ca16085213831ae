/* sandbox_probe - finds out whether this machine allows a sandbox, by making one. */
#pragma once
#include "core/err.h"

/*
 * Start a sandbox whose root is an overlay of empty directories in 'dir', end it, and remove the
 * directories.  On failure, err names the feature that this machine does not allow.
 */
int sandbox_probe_overlay(int dir, struct err *err);
