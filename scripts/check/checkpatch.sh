# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# The kernel's checker of style, for scripts that source this, and the types of
# its findings that do not hold for some sources.  linux= names the kernel tree.

# The effect of codectl=off is documented with the call, and the ABI uses ENOSYS
# for it.
kernel_types=UNDOCUMENTED_SETUP,ENOSYS
# The form of trace events, and of the lists of names that they print.
trace_types=OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,COMPLEX_MACRO
# The operand of an asm statement in the exception table is taken for a remainder.
asm_types=SPACING
# User space has the types and attributes of C and its libraries.
user_types=PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,CAMELCASE,VOLATILE,AVOID_EXTERNS
user_types+=,STATIC_CONST_CHAR_ARRAY,NEW_TYPEDEFS
# Effects of kselftest_harness on macros and on the lines that use them.
harness_types=SPACING,FUNCTION_ARGUMENTS,LINE_SPACING,MACRO_WITH_FLOW_CONTROL
harness_types+=,MACRO_ARG_REUSE,$trace_types

# check_patch TYPES ARG... - TYPES are left out
check_patch()
{
	local ignored=$1
	shift

	"$linux/scripts/checkpatch.pl" --strict --no-tree --terse -q --show-types \
		--root="$linux" --ignore="$ignored" "$@" |
		grep -v '^total: 0 errors, 0 warnings, 0 checks'
	return "${PIPESTATUS[0]}"
}
