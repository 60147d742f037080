/* SPDX-License-Identifier: MIT */

/*
 * The memory of the models: the stores of the writer are a log in program order.  A
 * load returns the newest store to its location among those that the reader has to
 * see, the first "floor" of the log, or any later one: stores become visible in any
 * order, loads happen in any order, and each location for itself.  What a reader has
 * to see grows by barriers only:
 *
 *   store_release	obliges whoever loads it to see all stores before it
 *   wmb		each later store obliges to see those before the wmb
 *   rmb		loads after it see what the stores oblige to that any load before
 *		it met
 *
 * There are no dependencies between loads, and two loads of one location may
 * even see its stores in the wrong order: weaker than any machine.
 *
 * A reader has "floor", "pending", "i", "j", "later" and "pick" of its own.
 */

byte loc[LOG];
byte val[LOG];
byte rel[LOG];			/* what an acquire load of it obliges to see */
byte n;
byte fence;

/* --- the writer */

inline append(l, v, r)
{
	atomic {
		loc[n] = l;
		val[n] = v;
		rel[n] = r;
		n++
	}
}

#define store(l, v)		append(l, v, fence)
#define store_release(l, v)	append(l, v, n + 1)

inline wmb()
{
	fence = n
}

/* --- the reader */

inline load(l, dst)
{
	atomic {
		d_step {
			i = floor - 1;
			do
			:: loc[i] != l -> i--
			:: else -> break
			od;
			later = 0;
			j = i + 1;
			do
			:: j < n && loc[j] == l -> later++; j++
			:: j < n && loc[j] != l -> j++
			:: j >= n -> break
			od;
			j = 0
		}
		select(pick : 0 .. later);
		skip;
		d_step {
			do
			:: pick > 0 ->
				i++;
				if
				:: loc[i] == l -> pick--
				:: else
				fi
			:: else -> break
			od;
			dst = val[i];
			if
			:: rel[i] > pending -> pending = rel[i]
			:: else
			fi;
			i = 0;
			later = 0
		}
	}
}

inline rmb()
{
	if
	:: pending > floor -> floor = pending
	:: else
	fi
}
