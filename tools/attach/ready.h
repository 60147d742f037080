/* SPDX-License-Identifier: MIT */
#ifndef READY_H
#define READY_H

/* Tells systemd that the service is ready, if it wants to know, like sd_notify(3). */
void ready_tell(void);

#endif
