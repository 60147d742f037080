# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# checkpatch.pl of the kernel, for scripts that source this, and the types of its messages that
# do not apply to some sources.  linux= names the kernel tree.

# With codectl=off, the system call returns ENOSYS, as documented.
kernel_types=UNDOCUMENTED_SETUP,ENOSYS
# The format of trace events, and of the lists of names that they print.
trace_types=OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,COMPLEX_MACRO
# checkpatch takes an operand of an asm statement in the exception table for a remainder.
asm_types=SPACING
# User space uses the types and attributes of C and its libraries.
user_types=PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,CAMELCASE,VOLATILE,AVOID_EXTERNS
user_types+=,STATIC_CONST_CHAR_ARRAY,NEW_TYPEDEFS
# kselftest_harness determines the style of its macros and of the lines that use them.
harness_types=SPACING,FUNCTION_ARGUMENTS,LINE_SPACING,MACRO_WITH_FLOW_CONTROL
harness_types+=,MACRO_ARG_REUSE,$trace_types

# check_patch TYPES ARG... - runs checkpatch, ignoring messages of TYPES
check_patch()
{
	local ignored=$1
	shift

	"$linux/scripts/checkpatch.pl" --strict --no-tree --terse -q --show-types \
		--root="$linux" --ignore="$ignored" "$@" |
		grep -v '^total: 0 errors, 0 warnings, 0 checks'
	return "${PIPESTATUS[0]}"
}
