// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "select.h"
#include "tool.h"

static const char *const group_names[] = {
	[GROUP_EVENT] = "event",
	[GROUP_COMM] = "comm",
	[GROUP_PID] = "pid",
	[GROUP_TID] = "tid",
	[GROUP_CGROUP] = "cgroup",
};

struct selection select_all(struct profile *profile)
{
	return (struct selection){
		.profile = profile, .to = UINT64_MAX,
		.groups = { GROUP_EVENT }, .nr_groups = 1,
	};
}

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (name && !strcmp(*names, name))
			return true;
	return false;
}

/* An event is named SYSTEM:EVENT or EVENT. */
static bool takes_event(const struct selection *selection, uint32_t nr)
{
	const char *name = profile_event_at(selection->profile, nr).name;
	const char *colon = strchr(name, ':');

	return is_one_of(selection->events, name) ||
	       (colon && is_one_of(selection->events, colon + 1));
}

static bool has_number(const int32_t *numbers, int32_t number)
{
	for (; *numbers; numbers++)
		if (*numbers == number)
			return true;
	return false;
}

/* Includes cgroups below it. */
static bool is_in_cgroup(const char *const *cgroups, const char *path)
{
	for (; path && *cgroups; cgroups++) {
		size_t len = strlen(*cgroups);

		while (len && (*cgroups)[len - 1] == '/')
			len--;
		if (!strncmp(path, *cgroups, len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

bool select_takes(const struct selection *selection, const struct profile_sample *sample)
{
	const struct profile_task task = profile_task_at(selection->profile, sample->task);

	return sample->time >= selection->from && sample->time < selection->to &&
	       (!selection->events || takes_event(selection, sample->event)) &&
	       (!selection->comms || is_one_of(selection->comms, task.comm)) &&
	       (!selection->cgroups || is_in_cgroup(selection->cgroups, task.cgroup)) &&
	       (!selection->pids || has_number(selection->pids, task.pid)) &&
	       (!selection->tids || has_number(selection->tids, task.tid));
}

bool select_unit(struct selection *selection)
{
	const uint32_t nr = profile_counts(selection->profile).samples;
	bool any = false, all = true;

	if (selection->unit == UNIT_EVENTS)
		return true;
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(selection->profile, i);

		if (!select_takes(selection, sample))
			continue;
		any = true;
		all &= profile_event_at(selection->profile, sample->event).timed;
	}
	if (selection->unit == UNIT_TIME)
		return all;
	selection->unit = any && all ? UNIT_TIME : UNIT_EVENTS;
	return true;
}

uint64_t select_weight(const struct selection *selection, const struct profile_sample *sample)
{
	return selection->unit == UNIT_TIME ? sample->ns : sample->events;
}

bool select_any(const struct selection *selection)
{
	const uint32_t nr = profile_counts(selection->profile).samples;

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(selection->profile, i);

		if (!sample->base && select_takes(selection, sample) &&
		    select_weight(selection, sample))
			return true;
	}
	return false;
}

static const char *numbered(struct profile *profile, const char *what, int32_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %d", what, number);
	return profile_string(profile, text);
}

const char *select_group(const struct selection *selection, enum group group,
			 const struct profile_sample *sample)
{
	struct profile *profile = selection->profile;
	const struct profile_task task = profile_task_at(profile, sample->task);
	const char *text = NULL;

	switch (group) {
	case GROUP_EVENT:
		text = profile_event_at(profile, sample->event).name;
		break;
	case GROUP_COMM:
		text = task.comm;
		break;
	case GROUP_CGROUP:
		text = task.cgroup;
		break;
	case GROUP_PID:
		return numbered(profile, "pid", task.pid);
	case GROUP_TID:
		return numbered(profile, "tid", task.tid);
	case GROUP_MAX:
		break;
	}
	return text ?: profile_string(profile, "[unknown]");
}

enum group group_of(const char *name)
{
	enum group group = 0;

	while (group < GROUP_MAX && strcmp(group_names[group], name))
		group++;
	return group;
}

const char *group_name(enum group group)
{
	return group_names[group];
}

const char *unit_name(const struct selection *selection)
{
	return selection->unit == UNIT_TIME ? "ns" : "events";
}
