# SPDX-License-Identifier: MIT
#
# Prints the facts of stacks.awk, "mode program key value...", side by side, and
# checks what must hold.  The exit status is 1 if it does not.
#
# usage: awk -v programs="PROGRAM..." -f report.awk FACTS

function share(part, whole)
{
	if (!whole)
		return "-"
	return sprintf("%d (%.2f %%)", part, 100 * part / whole)
}

function row(title, off, on, dwarf)
{
	printf "  %-40s %16s %16s %16s\n", title, off, on, dwarf
}

function shares(title, p, part, whole)
{
	row(title, share(f["off", p, part], f["off", p, whole]),
	    share(f["on", p, part], f["on", p, whole]),
	    share(f["dwarf", p, part], f["dwarf", p, whole]))
}

function counts(title, p, key)
{
	row(title, f["off", p, key] + 0, f["on", p, key] + 0,
	    f["dwarf", p, key] + 0)
}

function expect(held, what, seen)
{
	if (held)
		return
	print "  FAILED: " what ": " seen
	failed = 1
}

function of(part, whole_of)
{
	return sprintf("%d of %d", part, whole_of)
}

# In thousandths, so that the result does not depend on rounding.
function expect_most(p, part, whole_of, thousandths, what)
{
	part = f["on", p, part]
	whole_of = f["on", p, whole_of]
	expect(1000 * part >= thousandths * whole_of, p ": " what,
	       of(part, whole_of))
}

# With fewer samples, a share of one in a thousand means nothing.
function expect_enough(mode, p, key, what)
{
	expect(f[mode, p, key] >= ENOUGH,
	       p ": at least " ENOUGH " samples " what ", " title[mode],
	       f[mode, p, key] + 0)
}

function print_stack(mode, p,	i, n)
{
	printf "  most frequent stack%s, %s:\n",
	       nr_inside[p] ? " of those" : "", title[mode]
	n = nr_stack[mode, p]
	for (i = 1; i <= n; i++)
		print "      " stack[mode, p, i]
}

# Most frequent first, twelve at most.
function print_ends(p,	i, best, n)
{
	if (nr_ends[p])
		print "  incomplete with codectl on, by the frame they end at:"
	for (n = 0; n < 12; n++) {
		best = 0
		for (i = 1; i <= nr_ends[p]; i++)
			if (ends[p, i] + 0 > ends[p, best] + 0)
				best = i
		if (!best)
			return
		print "      " ends[p, best]
		ends[p, best] = 0
	}
}

function print_program(p,	i, sym, m)
{
	printf "\n== %s\n", p
	row("", title["off"], title["on"], title["dwarf"])
	counts("samples", p, "samples")
	counts("without a user stack", p, "no-user-stack")
	counts("taken in user mode", p, "user-mode")
	shares("  to the outermost frame", p, "user-mode-complete", "user-mode")
	shares("user stacks to the outermost frame", p, "user-stacks-complete",
	       "user-stacks")
	for (i = 1; i <= nr_inside[p]; i++) {
		sym = inside[p, i]
		counts("inside " sym, p, sym)
		shares("  to main and _start", p, sym " whole", sym)
	}
	counts("bytes of perf.data", p, "bytes")
	for (m = 1; m <= 3; m++)
		print_stack(modes[m], p)
	print_ends(p)
}

# Frame pointers may be right by chance.
function expect_none(p, sym,	part, whole_of)
{
	part = f["off", p, sym " whole"]
	whole_of = f["off", p, sym]
	expect(100 * part <= whole_of,
	       p ": at most 1 % of those in " sym " do with codectl=off",
	       of(part, whole_of))
}

function check_compiled(p,	below)
{
	below = "C-below-compiled-code"
	expect_most(p, "user-mode-complete", "user-mode", 999,
		    "99.9 % of the samples in user mode end at the outermost frame")
	expect_enough("on", p, "compiled-code", "in compiled code")
	expect_enough("on", p, below, "below compiled code")
	expect_enough("off", p, "compiled-code", "in compiled code")
	expect_most(p, below " whole", below, 1000,
		    "all samples below compiled code reach the outermost frame")
	expect_most(p, "compiled-code whole", "compiled-code", 999,
		    "99.9 % of those in compiled code do")
	expect_none(p, "compiled-code")
	expect_none(p, "rt_spin")
}

function check_inside(p, sym)
{
	expect_enough("on", p, sym, "inside " sym)
	expect_enough("off", p, sym, "inside " sym)
	expect_most(p, sym " whole", sym, 999,
		    "99.9 % of those inside " sym " reach main and _start")
	expect(!f["off", p, sym " whole"],
	       p ": none of those inside " sym " does with codectl=off",
	       of(f["off", p, sym " whole"], f["off", p, sym]))
}

function check_program(p,	i)
{
	expect_enough("on", p, "user-mode", "in user mode")
	expect_most(p, "user-mode-complete", "user-mode", 990,
		    "99 % of the samples in user mode end at the outermost frame")
	if (p ~ /^jit-/) {
		check_compiled(p)
		return
	}
	if (p ~ /^(chain|plugin-host)$/)
		expect(nr_inside[p] == (p == "chain" ? 1 : 3),
		       p ": samples in every comparison function",
		       nr_inside[p] + 0 " of them")
	for (i = 1; i <= nr_inside[p]; i++)
		check_inside(p, inside[p, i])
}

BEGIN {
	ENOUGH = 2000
	split("off on dwarf", modes)
	title["off"] = "codectl=off"
	title["on"] = "codectl on"
	title["dwarf"] = "dwarf"
}

$3 == "inside" {
	if (!(($2, $4) in known)) {
		known[$2, $4] = 1
		inside[$2, ++nr_inside[$2]] = $4
	}
	f[$1, $2, $4] = $5
	f[$1, $2, $4 " whole"] = $6
	next
}

$3 == "ends" {
	if ($1 == "on")
		ends[$2, ++nr_ends[$2]] = $4 " " $5 " " $6
	next
}

$3 == "stack" {
	stack[$1, $2, ++nr_stack[$1, $2]] = $4 " " $5
	next
}

{ f[$1, $2, $3] = $4 }

END {
	n = split(programs, list)
	for (j = 1; j <= n; j++) {
		print_program(list[j])
		check_program(list[j])
	}
	print ""
	exit failed
}
