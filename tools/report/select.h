/* SPDX-License-Identifier: MIT */
/*
 * What of a profile a report is made of, and in which unit.
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

/* Of each kind of condition that is there, one has to be met. */
struct selection {
	struct profile *profile;
	const char **comms, **events, **cgroups;	/* end with NULL; NULL: any */
	int32_t *pids, *tids;		/* end with 0; NULL: any */
	uint64_t from, to;		/* ns since the recording's start, without @to */
	enum unit unit;
	enum group groups[GROUP_MAX];	/* the outermost first */
	size_t nr_groups;
	double min_share;		/* in percent of all that is selected */
};

/* All of it, by event. */
struct selection select_all(struct profile *profile);

bool select_takes(const struct selection *selection, const struct profile_sample *sample);

/*
 * Time, if all events that are selected are timed, unless a unit is given.  False if
 * that is time, and one is not.
 */
bool select_unit(struct selection *selection);
uint64_t select_weight(const struct selection *selection, const struct profile_sample *sample);

/* Whether there is weight in the recording, beside its base. */
bool select_any(const struct selection *selection);

/* What @group the sample is of, as a string of the profile's. */
const char *select_group(const struct selection *selection, enum group group,
			 const struct profile_sample *sample);

/* "comm" and so on; GROUP_MAX if there is no such group. */
enum group group_of(const char *name);
const char *group_name(enum group group);

/* "events" or "ns" */
const char *unit_name(const struct selection *selection);

#endif
