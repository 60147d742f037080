#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: compare-entry.sh STOCK-OBJDIR PATCHED-OBJDIR BINUTILS
#
# Compares, instruction by instruction, the functions on the path from and to user space in two
# builds of the kernel with the same configuration, and checks the cost of the hooks in mm.
# Prints TAP.

set -u -o pipefail

stock=$1 patched=$2 tools=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=tap.sh
. "$here/tap.sh"

# Makes the code independent of the layout of the object: offsets within the function and symbols
# of relocations remain, addresses of instructions and line tables do not.
disassemble()
{
	"$tools/objdump" -d -r --no-show-raw-insn --no-addresses \
		--disassemble="$3" "$1/$2" | sed -n '/^<.*>:$/,$p' |
		sed -e 's/[[:space:]]*#.*//' -e '/^Disassembly of section/d' -e '/^$/d' |
		syscall_count "$1"
}

# One more system call only changes the bound of the table.
syscall_count()
{
	local number

	number=$(sed -n 's/^#define __NR_syscalls //p' \
		"$1/arch/x86/include/generated/uapi/asm/unistd_64.h")
	[ -n "$number" ] || return 1
	sed -e "s/cmp    \$$(printf '%#x' "$number"),/cmp    \$NR_syscalls,/" \
	    -e "s/cmp    \$$(printf '%#x' $((number - 1))),/cmp    \$NR_syscalls-1,/"
}

compare()
{
	local object=$1 function=$2

	disassemble "$stock" "$object" "$function" > "$work/stock" &&
	disassemble "$patched" "$object" "$function" > "$work/patched"
	if [ "$(wc -l < "$work/stock")" -lt 4 ] || [ "$(wc -l < "$work/patched")" -lt 4 ]; then
		echo "# $function is in neither or one of the builds' $object"
		result 1 "$function"
		return
	fi
	diff "$work/stock" "$work/patched" > "$work/diff"
	result $? "$function: $(wc -l < "$work/stock") lines"
	sed 's/^/# /' "$work/diff" | head -n 20
}

# Verify that the comparison detects a difference.
check_comparison()
{
	disassemble "$stock" kernel/entry/common.o irqentry_exit > "$work/stock"
	disassemble "$stock" arch/x86/entry/syscall_64.o do_syscall_64 > "$work/patched"
	! cmp -s "$work/stock" "$work/patched"
	result $? "the comparison tells functions apart"
	grep -q call "$work/patched"
	result $? "the disassembly holds calls"
}

# With nothing registered a hook is one load and one branch.
hook()
{
	"$tools/objdump" -d -r --no-show-raw-insn --disassemble="$2" \
		"$patched/$1" | awk -v callee="$3" -f "$here/hook-cost.awk"
	result $? "the hook in $2 costs a load and a branch"
}

check_comparison
compare arch/x86/entry/syscall_64.o do_syscall_64
# Linux 7.3 has irqentry_exit_to_user_mode() inline in irqentry_exit().
for function in irqentry_enter irqentry_exit exit_to_user_mode_loop; do
	compare kernel/entry/common.o "$function"
done
hook mm/vma.o vms_complete_munmap_vmas __codectl_unmap
hook mm/mmap.o dup_mmap __codectl_dup_mmap
hook kernel/fork.o __mmput __codectl_mm_exit
finish
