/* SPDX-License-Identifier: MIT */

/*
 * The tables of compiled code: one writer, and one thread that runs what has
 * been published and is sampled there, so that the kernel reads the tables in
 * its place.  See README.md for what the names of barriers stand for.
 *
 * -DNO_<barrier> makes a plain load or store of one barrier.
 */

#define TABLES	2
#define ROWS	2		/* in one table */
#define ADDRS	6

/* The address with this number in the order in which rows are appended. */
#ifdef DESCENDING
#define AT(nr)	(ADDRS - 1 - (nr))
#else
#define AT(nr)	(nr)
#endif
#define STUB	AT(3)		/* code that never gets a row is there */

/* The lower one of two addresses that follow each other. */
#ifdef DESCENDING
#define LOWER(nr)	AT((nr) + 1)
#else
#define LOWER(nr)	AT(nr)
#endif

/* Locations */
#define USED(t)		(t)
#define NEXT(t)		(TABLES + (t))
#define IP(t, r)	(2 * TABLES + 3 * ((t) * ROWS + (r)))
#define SIZE(t, r)	(IP(t, r) + 1)
#define RULE(t, r)	(IP(t, r) + 2)
#define SEQ		(2 * TABLES + 3 * TABLES * ROWS)
#define ENTRY(a)	(SEQ + 1 + (a))
#define LOCATIONS	ENTRY(ADDRS)

/* Rules; the entry of an address holds the rule of the code that is there. */
#define NOTHING		0
#define F0		1
#define F1		2
#define F2		3
#define F4		4
#define F5		5
#define F0_AGAIN	6
#define F2_AGAIN	7
#define DEFAULT		8	/* of code that no row covers */
#define GARBAGE		9
#define TRUNCATED	10

#define LOG		84
#include "memory.pml"

bit has_seq;			/* else nothing is rewritten */
bit warm;			/* the reader keeps the row of the only address sampled */
bit unlinked[TRUNCATED];	/* can no more be entered */
byte inside = NOTHING;		/* where the runner has a frame */

/* --- the writer's stores */

#ifdef NO_USED_RELEASE
#define store_used		store
#else
#define store_used		store_release
#endif

#ifdef NO_NEXT_RELEASE
#define store_next		store
#else
#define store_next		store_release
#endif

#ifdef NO_ENTRY_RELEASE
#define store_entry		store
#else
#define store_entry		store_release
#endif

#ifdef NO_RETIRE_RELEASE
#define store_entry_retired	store
#else
#define store_entry_retired	store_release
#endif

#ifdef NO_SEQ_ODD_WMB
#define wmb_seq_odd()		skip
#else
#define wmb_seq_odd()		wmb()
#endif

#ifdef NO_SEQ_EVEN_RELEASE
#define store_seq_even		store
#else
#define store_seq_even		store_release
#endif

/* --- the reader's barriers */

#ifdef NO_USED_RMB
#define rmb_used()		skip
#else
#define rmb_used()		rmb()
#endif

#ifdef NO_NEXT_RMB
#define rmb_next()		skip
#else
#define rmb_next()		rmb()
#endif

#ifdef NO_ENTRY_RMB
#define rmb_entry()		skip
#else
#define rmb_entry()		rmb()
#endif

#ifdef NO_SEQ_BEGIN_RMB
#define rmb_seq_begin()		skip
#else
#define rmb_seq_begin()		rmb()
#endif

#ifdef NO_SEQ_END_RMB
#define rmb_seq_end()		skip
#else
#define rmb_seq_end()		rmb()
#endif

#ifdef NO_ROW_RMB
#define rmb_row()		skip
#else
#define rmb_row()		rmb()
#endif

/* --- the writer */

inline write_row(t, r, ip, size, rule)
{
	store(IP(t, r), ip);
	store(SIZE(t, r), size);
	store(RULE(t, r), rule)
}

/* Nobody enters the code any more, and nobody is in it. */
inline vacate(code)
{
	unlinked[code] = 1;
#ifndef NO_LEAVE_WAIT
	(inside != code)
#endif
}

inline publish(t, r, ip, size, rule)
{
	write_row(t, r, ip, size, rule);
	store_used(USED(t), r + 1)
}

inline rewrite()
{
	/* The table is full: chain the second. */
	publish(0, 1, AT(1), 1, F1);
	store_entry(ENTRY(AT(1)), F1);
	publish(1, 0, AT(2), 1, F2);
	store_next(NEXT(0), 1);
	store_entry(ENTRY(AT(2)), F2);

	/* Retire, and put code there that the default rule describes. */
	vacate(F0);
	store(SIZE(0, 0), 0);
	store_entry_retired(ENTRY(AT(0)), DEFAULT);
	vacate(F1);
	store(SIZE(0, 1), 0);

	/* Compact: one row is left, and the second table is free. */
	store(SEQ, 1);
	wmb_seq_odd();
	write_row(0, 0, AT(2), 1, F2);
	store(USED(0), 1);
	store(NEXT(0), 0);
	store_seq_even(SEQ, 2);

	/* Append as before. */
	publish(0, 1, AT(4), 1, F4);
	store_entry(ENTRY(AT(4)), F4);
	publish(1, 0, AT(5), 1, F5);
	store_next(NEXT(0), 1);
	store_entry(ENTRY(AT(5)), F5);

	/* Reuse the first address: all rows move. */
	vacate(DEFAULT);
	store(SEQ, 3);
	wmb_seq_odd();
	write_row(1, 1, AT(5), 1, F5);
	write_row(1, 0, AT(4), 1, F4);
	store(USED(1), 2);
	write_row(0, 1, AT(2), 1, F2);
	write_row(0, 0, AT(0), 1, F0_AGAIN);
	store_seq_even(SEQ, 4);
	store_entry(ENTRY(AT(0)), F0_AGAIN);
}

/*
 * Without a sequence count: what comes last may be retired, and its addresses, from
 * any on, get another row; in decreasing order only those beyond it, as its own
 * row would not be found.
 */
#ifdef DESCENDING
#define AGAIN	AT(4)
#else
#define AGAIN	AT(2)
#endif

inline retire_last()
{
	publish(0, 1, LOWER(1), 2, F1);
	store_entry(ENTRY(AT(1)), F1);
	store_entry(ENTRY(AT(2)), F1);

	vacate(F1);
	store(SIZE(0, 1), 0);
	store_entry_retired(ENTRY(AT(1)), DEFAULT);

	/* The table is full: chain the second, in the middle of that row. */
	publish(1, 0, AGAIN, 1, F2);
	store_next(NEXT(0), 1);
	store_entry(ENTRY(AGAIN), F2);

#ifndef DESCENDING
	vacate(F2);
	store(SIZE(1, 0), 0);
	publish(1, 1, AGAIN, 1, F2_AGAIN);
	store_entry(ENTRY(AGAIN), F2_AGAIN)
#endif
}

active proctype writer()
{
	(fence != 0);

	publish(0, 0, AT(0), 1, F0);
	store_entry(ENTRY(AT(0)), F0);

	if
	:: has_seq -> rewrite()
	:: else -> retire_last()
	fi
}

/* --- the reader: the kernel, in the place of the sampled thread */

#ifdef DESCENDING
#define FOLLOWS		(ip + size <= limit)
#define BEHIND_LAST	(addr < ip)
#define LIMIT		ip
#define LOWEST		(used - 1)
#else
#define FOLLOWS		(ip >= limit)
#define BEHIND_LAST	(addr >= ip + size)
#define LIMIT		(ip + (size > 0 -> size : 1))
#define LOWEST		0
#endif

/* jit_bisect(): with two rows at most, one comparison at most */
inline bisect(t)
{
	row = LOWEST;
	if
	:: used == ROWS ->
		load(IP(t, 1 - row), ip);
		if
		:: ip <= addr -> row = 1 - row
		:: else
		fi
	:: else
	fi;
	load(IP(t, row), ip);
	load(SIZE(t, row), size);
	if
	:: ip <= addr && addr < ip + size -> load(RULE(t, row), found)
	:: else
	fi
}

inline load_last_row()
{
	load(IP(table, used - 1), ip);
	load(SIZE(table, used - 1), size)
}

/* jit_skip_table(): @onward is 0 where it returns false */
inline skip_table()
{
#ifdef NO_NEXT_BEFORE_ROW
	load_last_row();
#endif
	load(NEXT(table), onward);
	if
	:: onward != 0 ->
		rmb_next();
#ifndef NO_NEXT_BEFORE_ROW
		load_last_row();
#endif
		if
		:: BEHIND_LAST -> limit = LIMIT
		:: else -> onward = 0
		fi
	:: else
	fi
}

inline search()
{
	table = 0;
	limit = 0;
	found = DEFAULT;
	do
	:: load(USED(table), used);
		rmb_used();
		if
		:: used == 0 -> break
		:: else
		fi;
		if
		:: table > 0 ->
			load(IP(table, 0), ip);
			load(SIZE(table, 0), size);
			if
			:: FOLLOWS
			:: else -> found = TRUNCATED; break
			fi
		:: else
		fi;
		skip_table();
		if
		:: onward == 0 -> bisect(table); break
		:: else -> table = onward
		fi
	od
}

inline seq_begin()
{
	if
	:: has_seq ->
		load(SEQ, seq);
		rmb_seq_begin()
	:: else
	fi
}

inline seq_end()
{
	again = seq;
	if
	:: has_seq ->
		rmb_seq_end();
		load(SEQ, again)
	:: else
	fi
}

inline lookup()
{
	start = floor;
	tries = 0;
	do
	:: tries == 2 -> found = TRUNCATED; break
	:: else ->
		tries++;
		seq_begin();
		if
		:: seq & 1
		:: else ->
			search();
			seq_end();
			if
			:: seq == again -> break
			:: else
			fi
		fi
	od
}

/* jit_row_remains(): what the reader keeps of a row is where it is. */
inline look_again()
{
	load(SIZE(kept_row / ROWS, kept_row % ROWS), size);
	load(RULE(kept_row / ROWS, kept_row % ROWS), kept);
	again = kept_seq;
	if
	:: has_seq ->
		rmb_row();
		load(SEQ, again)
	:: else
	fi;
	if
	:: size != 0 && again == kept_seq -> found = kept
	:: else
	fi
}

inline find_rule()
{
	found = NOTHING;
	if
	:: kept != NOTHING ->
		start = floor;
		look_again()
	:: else
	fi;
	if
	:: found == NOTHING ->
		lookup();
		if
		:: warm && found != DEFAULT && found != TRUNCATED ->
			kept = found;
			kept_row = table * ROWS + row;
			kept_seq = seq
		:: else
		fi
	:: else
	fi
}

/*
 * A truncated stack is right only beside a rewrite, one that is not over for
 * all that this thread has seen before.
 */
inline check()
{
	d_step {
		rewritten = 0;
		i = 0;
		do
		:: i < n ->
			if
			:: loc[i] == SEQ && i < start -> rewritten = val[i] & 1
			:: loc[i] == SEQ && i >= start -> rewritten = 1
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
	assert(found == code || (found == TRUNCATED && rewritten))
}

active proctype runner()
{
	byte floor = LOCATIONS;
	byte pending, i, j, later, pick;
	byte addr, code, seq, again, tries, start;
	byte table, used, onward, limit, row, ip, size, found;
	byte kept = NOTHING, kept_row, kept_seq;
	bit rewritten;

	(fence != 0);

end_idle:
	do
	:: atomic {
		if
		:: warm -> addr = (has_seq -> AT(0) : AGAIN)
		:: else -> select(addr : 0 .. ADDRS - 1)
		fi;
		load(ENTRY(addr), code);
		rmb_entry();
		if
		:: code != NOTHING && !(addr != STUB && unlinked[code]) ->
			inside = code
		:: else -> code = NOTHING
		fi
	   }
	   if
	   :: code != NOTHING ->
#ifdef NO_LEAVE_RELEASE
		if
		:: inside = NOTHING
		:: skip
		fi;
#endif
		find_rule();
		check()
	   :: else
	   fi;
	   d_step {
		inside = NOTHING;
		addr = 0; code = 0; seq = 0; again = 0; tries = 0; start = 0;
		table = 0; used = 0; onward = 0; limit = 0; row = 0;
		ip = 0; size = 0; found = 0; rewritten = 0; pick = 0
	   }
	od
}

/* The second table lies where something else was. */
init {
	if
	:: has_seq = 1
	:: skip
	fi;
	if
	:: warm = 1
	:: skip
	fi;
	d_step {
		do
		:: n < LOCATIONS ->
			loc[n] = n;
			rel[n] = LOCATIONS;
			n++
		:: else -> break
		od;
		val[USED(1)] = 2;
		val[IP(1, 0)] = AT(2);
		val[SIZE(1, 0)] = 1;
		val[RULE(1, 0)] = GARBAGE;
		val[IP(1, 1)] = STUB;
		val[SIZE(1, 1)] = 1;
		val[RULE(1, 1)] = GARBAGE;
		val[ENTRY(STUB)] = DEFAULT;
		fence = LOCATIONS
	}
}
