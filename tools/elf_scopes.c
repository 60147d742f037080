// SPDX-License-Identifier: MIT
#include <dwarf.h>
#include <stdlib.h>

#include "elf_scopes.h"

/* Nesting depth of namespaces and types, and of blocks. */
#define MAX_DEPTH	256

struct range {
	Dwarf_Addr start, end;
	Dwarf_Addr reach;	/* the highest @end up to here */
	size_t number;		/* of a unit */
	Dwarf_Die die;		/* a function */
};

struct ranges {
	struct range *range;
	size_t nr, room;
};

struct unit {
	Dwarf_Die die;
	bool read;
	struct ranges functions;
};

struct elf_scopes {
	struct ranges ranges;	/* of units */
	struct unit *units;
	size_t nr, room;
};

/* --------------------------------------------------------------------- ranges */

/* Doubles the room for *@array; false without memory. */
static bool make_room(void *array, size_t *room, size_t size)
{
	void **at = array, *more;
	size_t want = *room ? 2 * *room : 16;

	more = reallocarray(*at, want, size);
	if (!more)
		return false;
	*at = more;
	*room = want;
	return true;
}

static void add_ranges(struct ranges *ranges, Dwarf_Die *die, size_t number)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (ranges->nr == ranges->room &&
		    !make_room(&ranges->range, &ranges->room, sizeof(*ranges->range)))
			return;
		ranges->range[ranges->nr++] = (struct range){
			.start = start, .end = end, .number = number, .die = *die,
		};
	}
}

static int by_start(const void *one, const void *other)
{
	const struct range *a = one, *b = other;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void sort_ranges(struct ranges *ranges)
{
	Dwarf_Addr reach = 0;

	if (ranges->nr)
		qsort(ranges->range, ranges->nr, sizeof(*ranges->range), by_start);
	for (size_t i = 0; i < ranges->nr; i++) {
		if (ranges->range[i].end > reach)
			reach = ranges->range[i].end;
		ranges->range[i].reach = reach;
	}
}

/* The one that covers the address and starts last, or NULL. */
static const struct range *find_range(const struct ranges *ranges, Dwarf_Addr address)
{
	size_t low = 0, high = ranges->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->range[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && ranges->range[low].reach > address)
		if (ranges->range[low].end > address)
			return &ranges->range[low];
	return NULL;
}

/* ---------------------------------------------------------------------- units */

static bool add_unit(struct elf_scopes *scopes, const Dwarf_Die *die)
{
	if (scopes->nr == scopes->room &&
	    !make_room(&scopes->units, &scopes->room, sizeof(*scopes->units)))
		return false;
	scopes->units[scopes->nr] = (struct unit){ .die = *die };
	add_ranges(&scopes->ranges, &scopes->units[scopes->nr].die, scopes->nr);
	scopes->nr++;
	return true;
}

struct elf_scopes *elf_scopes_new(Dwarf *dwarf)
{
	struct elf_scopes *scopes = calloc(1, sizeof(*scopes));
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;

	if (!scopes)
		return NULL;
	while (!dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL))
		if (type == DW_UT_compile && !add_unit(scopes, &die))
			break;
	sort_ranges(&scopes->ranges);
	return scopes;
}

void elf_scopes_free(struct elf_scopes *scopes)
{
	if (!scopes)
		return;
	for (size_t i = 0; i < scopes->nr; i++)
		free(scopes->units[i].functions.range);
	free(scopes->units);
	free(scopes->ranges.range);
	free(scopes);
}

/* ------------------------------------------------------------------ functions */

static bool may_have_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_variant_part:
		return true;
	default:
		return false;
	}
}

static void add_functions(struct ranges *functions, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_ranges(functions, &die, 0);
		else if (may_have_functions(tag))
			add_functions(functions, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

Dwarf_Die *elf_scopes_find(struct elf_scopes *scopes, Dwarf_Addr address, Dwarf_Die *function,
			   bool *found)
{
	const struct range *range = find_range(&scopes->ranges, address);
	struct unit *unit = range ? &scopes->units[range->number] : NULL;

	*found = false;
	if (!unit)
		return NULL;
	if (!unit->read) {
		add_functions(&unit->functions, &unit->die, 0);
		sort_ranges(&unit->functions);
		unit->read = true;
	}
	range = find_range(&unit->functions, address);
	if (range) {
		*function = range->die;
		*found = true;
	}
	return &unit->die;
}

/* The block or inlined function directly in @parent that covers the address. */
static bool find_inner(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *inner)
{
	if (dwarf_child(parent, inner))
		return false;
	do {
		int tag = dwarf_tag(inner);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(inner, address) > 0)
			return true;
	} while (!dwarf_siblingof(inner, inner));
	return false;
}

size_t elf_scopes_inlined(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *inlined,
			  size_t max)
{
	Dwarf_Die parent = *function, die;
	size_t nr = 0;

	for (unsigned int depth = 0; nr < max && depth < MAX_DEPTH; depth++) {
		if (!find_inner(&parent, address, &die))
			break;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			inlined[nr++] = die;
		parent = die;
	}
	return nr;
}
