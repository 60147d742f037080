/* SPDX-License-Identifier: MIT */
#ifndef READY_H
#define READY_H

/* Tells systemd that the service is ready, if it wants to know: as sd_notify(3) does. */
void ready_tell(void);

#endif
