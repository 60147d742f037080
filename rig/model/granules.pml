/* SPDX-License-Identifier: MIT */

/*
 * A granule map: one writer, and two threads.  One runs what has been published
 * and is sampled there, so that the kernel reads the map in its place; the other looks
 * any address up, as codectl_lookup() does, whatever is there.
 *
 * A rule is two words, so that what is of two functions can be seen.
 *
 * -DNO_<barrier> makes a plain load or store of one barrier.
 */

#define ADDRS	2		/* a granule each */
#define RECORDS	2

/* Locations */
#define SLOT(a)		(a)
#define SEQ(r)		(ADDRS + 4 * (r))
#define START(r)	(SEQ(r) + 1)
#define CFA(r)		(SEQ(r) + 2)
#define RA(r)		(SEQ(r) + 3)
#define ENTRY(a)	(ADDRS + 4 * RECORDS + (a))
#define LOCATIONS	ENTRY(ADDRS)

/* Rules; the entry of an address holds the rule of the code that is there. */
#define NOTHING		0
#define F0		1	/* the odd ones at the first address */
#define F1		2
#define F2		3
#define F3		4
#define F4		5
#define GARBAGE		6
#define TRUNCATED	7

#define LOG		64
#include "memory.pml"

bit unlinked[TRUNCATED];	/* can no more be entered */
byte inside = NOTHING;		/* where the runner has a frame */

/* --- the writer's stores */

#ifdef NO_RECORD_ODD_WMB
#define wmb_record_odd()	skip
#else
#define wmb_record_odd()	wmb()
#endif

#ifdef NO_RECORD_EVEN_RELEASE
#define store_record_even	store
#else
#define store_record_even	store_release
#endif

#ifdef NO_SLOT_RELEASE
#define store_slot		store
#else
#define store_slot		store_release
#endif

#ifdef NO_ENTRY_RELEASE
#define store_entry		store
#else
#define store_entry		store_release
#endif

/* --- the reader's barriers */

#ifdef NO_RECORD_BEGIN_RMB
#define rmb_record_begin()	skip
#else
#define rmb_record_begin()	rmb()
#endif

#ifdef NO_RECORD_END_RMB
#define rmb_record_end()	skip
#else
#define rmb_record_end()	rmb()
#endif

#ifdef NO_ENTRY_RMB
#define rmb_entry()		skip
#else
#define rmb_entry()		rmb()
#endif

/* --- the writer */

inline write_record(r, seq, a, rule)
{
	store(SEQ(r), seq - 1);
	wmb_record_odd();
	store(START(r), a);
	store(CFA(r), rule);
	store(RA(r), rule);
	store_record_even(SEQ(r), seq)
}

/* A record that no slot has named before. */
inline write_first(r, a, rule)
{
	store(START(r), a);
	store(CFA(r), rule);
	store(RA(r), rule)
}

inline reach(r, a, rule)
{
	store_slot(SLOT(a), r + 1);
	store_entry(ENTRY(a), rule)
}

/* Nobody enters the code any more, and nobody is in it. */
inline retire(a, rule)
{
	unlinked[rule] = 1;
#ifndef NO_LEAVE_WAIT
	(inside != rule);
#endif
	store(SLOT(a), 0)
}

active proctype writer()
{
	(fence != 0);

	write_first(0, 0, F0);
	reach(0, 0, F0);
	write_first(1, 1, F1);
	reach(1, 1, F1);
	/* The record is used again, for the same address. */
	retire(0, F0);
	write_record(0, 2, 0, F2);
	reach(0, 0, F2);
	/* And for another one. */
	retire(1, F1);
	retire(0, F2);
	write_record(0, 4, 1, F3);
	reach(0, 1, F3);
	write_record(1, 2, 0, F4);
	reach(1, 0, F4)
}

/* --- the readers */

inline lookup()
{
	tries = 0;
	do
	:: tries == 2 -> found = TRUNCATED; break
	:: else ->
		tries++;
		found = NOTHING;
		load(SLOT(addr), slot);
		if
		:: slot == 0 -> break
		:: else
		fi;
		load(SEQ(slot - 1), seq);
		rmb_record_begin();
		if
		:: seq & 1
		:: else ->
			load(START(slot - 1), at);
			load(CFA(slot - 1), found);
			load(RA(slot - 1), ra);
			rmb_record_end();
			load(SEQ(slot - 1), again);
			load(SLOT(addr), slot_again);
			if
			:: seq == again && slot == slot_again ->
				if
				:: at != addr -> found = NOTHING
				:: else
				fi;
				break
			:: else
			fi
		fi
	od
}

#define READER							\
	byte floor = LOCATIONS;					\
	byte pending, i, j, later, pick;			\
	byte addr, slot, seq, at, ra, again, slot_again;	\
	byte found, tries

inline forget()
{
	d_step {
		addr = 0; slot = 0; seq = 0; at = 0; ra = 0; again = 0;
		slot_again = 0; found = 0; tries = 0; pick = 0
	}
}

/* Sampled in a function, it has the rule of that, whatever happens elsewhere. */
active proctype runner()
{
	READER;
	byte code;

	(fence != 0);

end_idle:
	do
	:: atomic {
		select(addr : 0 .. ADDRS - 1);
		load(ENTRY(addr), code);
		rmb_entry();
		if
		:: code != NOTHING && !unlinked[code] -> inside = code
		:: else -> code = NOTHING
		fi
	   }
	   if
	   :: code != NOTHING ->
		lookup();
		assert(found == code && ra == code)
	   :: else
	   fi;
	   atomic {
		inside = NOTHING;
		code = 0;
		forget()
	   }
	od
}

/* What is found is of one function, and of one that was at the address. */
active proctype onlooker()
{
	READER;
	byte kept;

	(fence != 0);

	select(addr : 0 .. ADDRS - 1);
	lookup();
	if
	:: found != NOTHING && found != TRUNCATED ->
		assert(found == ra && found != GARBAGE &&
		       (found & 1) == (addr == 0 -> 1 : 0));
		/* It is kept, and later it remains what it was, or is no more. */
		kept = found;
		load(CFA(slot - 1), found);
		load(RA(slot - 1), ra);
		rmb_record_end();
		load(SEQ(slot - 1), again);
		load(SLOT(addr), slot_again);
		assert(found == kept && ra == kept || seq != again ||
		       slot != slot_again);
		kept = 0
	:: else
	fi;
	forget()
}

/* Records lie where something else was. */
init {
	d_step {
		do
		:: n < LOCATIONS ->
			loc[n] = n;
			rel[n] = LOCATIONS;
			n++
		:: else -> break
		od;
		val[CFA(0)] = GARBAGE;
		val[RA(0)] = GARBAGE;
		val[START(1)] = 1;
		val[CFA(1)] = GARBAGE;
		val[RA(1)] = GARBAGE;
		fence = LOCATIONS
	}
}
