/* SPDX-License-Identifier: MIT */
/*
 * The part of a profile to report on, and the unit.
 */
#ifndef SELECT_H
#define SELECT_H

#include "profile.h"

enum group {
	GROUP_EVENT,
	GROUP_COMM,
	GROUP_PID,
	GROUP_TID,
	GROUP_CGROUP,
	GROUP_MAX
};

enum unit { UNIT_UNSET, UNIT_EVENTS, UNIT_TIME };

/* For each kind of condition that is set, one has to be met. */
struct selection {
	struct profile *profile;
	const char **comms, **events, **cgroups;	/* NULL-terminated; NULL: any */
	int32_t *pids, *tids;		/* end with 0; NULL: any */
	uint64_t from, to;		/* ns since the recording's start, without @to */
	enum unit unit;
	enum group groups[GROUP_MAX];	/* the outermost first */
	size_t nr_groups;
	double min_share;		/* in percent of the selected total */
};

/* All of it, by event. */
struct selection select_all(struct profile *profile);

bool select_takes(const struct selection *selection, const struct profile_sample *sample);

/*
 * Time if all selected events are timed, unless a unit is given.  False if that is
 * time, and one event is not timed.
 */
bool select_unit(struct selection *selection);
uint64_t select_weight(const struct selection *selection, const struct profile_sample *sample);

/* Is there weight in the recording, apart from its base? */
bool select_any(const struct selection *selection);

/* The @group of the sample, as a string of the profile's. */
const char *select_group(const struct selection *selection, enum group group,
			 const struct profile_sample *sample);

/* "comm" and so on; GROUP_MAX if there is no such group. */
enum group group_of(const char *name);
const char *group_name(enum group group);

/* "events" or "ns" */
const char *unit_name(const struct selection *selection);

#endif
