#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-export.sh BUILDDIR [--build]
#
# Checks that the output of export-series.sh applies to pristine trees with "git am",
# gives the patched trees, passes checkpatch and can be mailed; that the patches are as
# regen-patches.sh writes them; that each series says what it needs; that quilt accepts
# both sets; and, with --build, that each step builds, and that the kernel passes its
# tests after each series. Prints TAP.
# JOBS is the number of parallel jobs.

# Functions are called by name.
# shellcheck disable=SC2317

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 mode=${2:-}
# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@localhost
export GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@localhost

linux=$build/linux
# shellcheck source=checkpatch.sh
. "$top/scripts/check/checkpatch.sh"
# Files come before their entry in MAINTAINERS and before their documentation.
mail_types=FILE_PATH_CHANGES,$kernel_types
# Arguments of profiled() in the benchmark look like a repeated word.
selftests_types=$user_types,$harness_types,REPEATED_WORD

# patches_of PROJECT - in all of its series, in the order in which they apply
patches_of()
{
	printf '%s\n' "$build/export/$1"-[0-9]*/[0-9]*.patch | grep -v '/0000-[^/]*$'
}

ids_of()
{
	local patch

	for patch; do
		git patch-id --stable < "$patch" | sed 's/ .*//'
	done
}

# Each cover letter names the patches of all series before its own.
prerequisites()
{
	local project dir seen=() patches

	for project in linux glibc; do
		seen=()
		for dir in "$build/export/$project"-[0-9]*/; do
			sed -n 's/^prerequisite-patch-id: //p' "$dir/0000-cover-letter.patch" |
				diff <(ids_of "${seen[@]}") - || return
			patches=("$dir"/[0-9]*.patch)
			seen+=("${patches[@]:1}")
		done
	done
	[ ${#seen[@]} != 0 ]
}

# Each series has a cover letter, with a text, and a name of its own in its subjects.
covers()
{
	local dir name

	for dir in "$build/export"/{linux,glibc}-[0-9]*; do
		name=${dir##*/}
		name=${name#*-*-}
		! grep -H -E '\*\*\* |^@' "$dir/0000-cover-letter.patch" || return
		! grep -L -E "^Subject: \[(RFC )?PATCH codectl-$name [0-9]" "$dir"/*.patch | grep . || return
	done
}

changed_by()
{
	patches_of "$1" | xargs sed -n 's,^diff --git a/.* b/\(.*\)$,\1,p' | sort -u
}

# pristine NAME - makes an unpatched tree that shares its files with the patched one, with a
# repository of the files that the series changes
pristine()
{
	local tree=$build/export/$1-tree

	rm -rf "$tree"
	cp -al "$build/$1" "$tree" || return
	rm -rf "$tree/.git"
	"$top/scripts/build/patch-tree.sh" --tree "$tree" --reverse || return
	git -C "$tree" init -q && changed_by "$1" | while read -r file; do
		[ ! -e "$tree/$file" ] || echo "$file"
	done | git -C "$tree" add --force --pathspec-from-file=- &&
		git -C "$tree" commit -q -m pristine && git -C "$tree" tag pristine
}

# Prints the differences between the tree made by "git am" and the patched one.
differences()
{
	diff -r -q --no-dereference -x .git -x .codectl \
		"$build/$1" "$build/export/$1-tree"
}

am()
{
	pristine "$1" && patches_of "$1" |
		xargs git -C "$build/export/$1-tree" am -q && differences "$1"
}

# regenerates PROJECT DIR - whether the script in DIR writes what is there, from a tree with only
# the files that the series changes
regenerates()
{
	local work=$build/export/regenerated

	rm -rf "$work"
	git clone -q "$build/export/$1-tree" "$work/tree" &&
		git -C "$work/tree" config core.attributesFile "$build/$1/.gitattributes" &&
		cp -R "$top/$2" "$work" || return
	# The series to mail are signed.
	if [ "$1" = glibc ]; then
		git -C "$work/tree" reset -q --hard pristine &&
			git -C "$work/tree" am -q "$top/$2"/0*.patch || return
	fi
	"$work/$2/regen-patches.sh" --"$1"="$work/tree" --base=pristine &&
		diff -r "$top/$2" "$work/$2" && rm -rf "$work"
}

check_patches()
{
	local patch types

	! patches_of linux | while read -r patch; do
		types=$mail_types
		case $(basename "$patch") in
		*-selftests-*) types+=,$selftests_types ;;
		*-trace-events-*.patch | *-tracing-*) types+=,$trace_types ;;
		*-Unwind-by-registered-tables.patch) types+=,$trace_types,$asm_types ;;
		esac
		check_patch "$types" "$patch" || echo failed
	done | grep .
}

# Mailing lists reject longer mails.
max_mail=120000

sizes()
{
	! find "$build"/export/{linux,glibc}-[0-9]* -name '[0-9]*.patch' \
		-size +"${max_mail}c" -printf '%f has %s bytes\n' | grep .
}

# As glibc requires for contributions without a copyright assignment.
signed_off()
{
	! patches_of glibc | xargs grep -L '^Signed-off-by: .* <.*@.*>$' | grep . &&
		! patches_of glibc | xargs grep '^+.*Copyright (C) .*Free Software Foundation' | grep .
}

# codectl_default USE - prints the tunable's default if configure sets use_codectl to USE
codectl_default()
{
	local tree=$build/glibc default

	# shellcheck disable=SC2016
	default=$(use_codectl=$1 bash -c "$(sed -n '/^if test "$use_codectl" = no/,/^fi/p' \
		"$tree/configure")"'; echo "$codectl_default"')
	gawk -v configured_codectl="$default" -f "$tree/scripts/gen-tunables.awk" \
		"$tree/elf/dl-tunables.list" | sed -n 's/.*rtld, codectl), .*{.numval = \([01]\)}, false.*/\1/p'
}

can_be_disabled()
{
	[ "$(codectl_default no) $(codectl_default yes)" = "0 1" ]
}

# push TREE PATCHES - applies them by quilt to the files that they change
push()
{
	local dir=$build/export/quilt

	rm -rf "$dir"
	cp -a "$build/$1/.codectl/orig" "$dir" &&
		(cd "$dir" && QUILT_PATCHES=$2 quilt --quiltrc=- push -a -q --fuzz=0) &&
		rm -rf "$dir"
}

# The objects to compile in each step: those of the series, and those that include its changes.
targets=(kernel/unwind/ mm/ kernel/fork.o fs/ kernel/trace/ arch/x86/ init/)

# compile NAME CONFIG TARGET...
compile()
{
	local obj=$build/export/obj-$1
	shift

	CONFIG_MAY_LACK=yes "$top/scripts/build/build-kernel.sh" "$build/export/linux-tree" \
		"$obj" "$build/tools/bin" "${JOBS:-$(nproc)}" \
		"$top/kernel/config/guest.config" "$1" -- "${@:2}"
}

has_option()
{
	grep -q '^config CODECTL$' "$build/export/linux-tree/init/Kconfig"
}

# each_step NAME COMMAND... - runs the command, with its name and file, after each patch
each_step()
{
	local name=$1 tree=$build/export/$1-tree patch step said
	shift

	git -C "$tree" reset -q --hard pristine || { result 1 "$tree is there"; return; }
	while read -r patch; do
		step=$(basename "$patch" .patch)
		if ! said=$(git -C "$tree" am -q "$patch" 2>&1); then
			echo "# ${said//$'\n'/$'\n'# }"
			result 1 "$step applies"
			return
		fi
		"$@" "$step" "$patch"
	done < <(patches_of "$name")
}

# The tests that there are by now, but not those that only kernels for tests can run, and where
# they are in the guest.
list_tests()
{
	local path

	for path in "$build"/export/obj-selftests/*_test; do
		echo "${path##*/} /tests/${path##*/}"
	done | grep -v -E '^(fault|nmi)_'
	sed -n 's,^\t\.name = "\(.*\)"\,$,kunit-\1 /sys/kernel/debug/kunit/\1/results,p' \
		"$build"/export/linux-tree/kernel/unwind/tests/*_kunit.c
}

# boot RESULT - boots the image and runs these tests, or only boots it if there are none
boot()
{
	local images=$build/export/images

	rm -rf "$images"
	mkdir "$images"
	ln -s "$build"/guest/{root.squashfs,tsc-khz} "$build/export/obj-with/arch/x86/boot/bzImage" \
		"$images"
	mv "$images/bzImage" "$images/bzImage-fast"
	if [ ! -d "$build/export/obj-selftests" ]; then
		"$top/rig/guest/guest.sh" --images "$images" -- true
		return
	fi
	list_tests > "$images/tests.list"
	"$top/rig/guest/guest.sh" --images "$images" --timeout 2700 \
		--add "$build/export/obj-selftests:/tests" \
		--add "$top/rig/guest/run-tests.sh:/run-tests.sh" \
		--add "$images/tests.list:/tests.list" \
		-- env EXPECT_ALL_FEATURES=1 sh /run-tests.sh /tests.list 300 > "$1" &&
		awk -f "$top/scripts/check/tap-summary.awk" "$1"
}

# Without the option, and with it from the step on that adds it.
linux_step()
{
	# The configurations lack the symbols that were not there when they were made.
	! grep -q '^diff --git a/[^ ]*Kconfig ' "$2" || rm -f "$build"/export/obj-*/.config.wanted
	run "$1 builds" compile with "$with" "${targets[@]}"
	! has_option || run "$1 builds without codectl" \
		compile without "$without" "${targets[@]}"
	[ ! -e "$selftests/Makefile" ] || run "$1 builds, selftests" \
		make -s -j"${JOBS:-$(nproc)}" -C "$selftests" \
		CC="$build/tools/bin/codectl-gcc" KHDR="$build/sysroot/usr/include" \
		O="$build/export/obj-selftests"
	is_last "$2" || return
	run "$1 is the last of its series: image" compile with "$with" bzImage
	run "$1: the image passes its tests" boot "$build/results/export-$1.tap"
	! has_option || run "$1 is the last of its series: image without codectl" \
		compile without "$without" bzImage
}

# is_last PATCH - of its series
is_last()
{
	local all=("${1%/*}"/*.patch)

	[ "$1" = "${all[-1]}" ]
}

build_linux()
{
	local with=$build/export/with.config without=$build/export/without.config
	local selftests=$build/export/linux-tree/tools/testing/selftests/codectl

	rm -rf "$build/export/obj-selftests"
	{ cat "$top/kernel/config/kunit.config"; echo CONFIG_CODECTL=y; } > "$with"
	echo '# CONFIG_CODECTL is not set' > "$without"
	each_step linux linux_step
	grep -q -x CONFIG_CODECTL=y "$build/export/obj-with/.config"
	result $? "with codectl"
	! grep -q '^CONFIG_CODECTL' "$build/export/obj-without/.config"
	result $? "and without"
}

# Each step recompiles only what it has changed.
glibc_step()
{
	# An existing header is made anew only for objects that are known to include it.
	! grep -q '^diff --git a/elf/dl-tunables.list ' "$2" ||
		rm -f "$build"/export/obj-glibc/dl-tunable-list.*
	run "$1 builds" "$top/scripts/build/build-glibc.sh" "$build/export/glibc-tree" \
		"$build/export/obj-glibc" "$build/tools/bin" "${JOBS:-$(nproc)}"
}

build_glibc()
{
	# Objects of another series may be newer than the pristine files.
	rm -rf "$build/export/obj-glibc"
	each_step glibc glibc_step
	rm -rf "$build/export/obj-glibc"
}

command -v quilt > /dev/null ||
	{ echo "Bail out! quilt is missing: apt-get install quilt"; exit 1; }
run "git am of the kernel's series gives the patched tree" am linux
run "git am of glibc's series gives the patched tree" am glibc
run "the kernel's patches are as regen-patches.sh writes them" regenerates linux kernel
run "glibc's patches are as regen-patches.sh writes them" regenerates glibc glibc-patches
run "each series has a cover letter" covers
run "each cover letter says which patches the series needs" prerequisites
run "checkpatch has nothing to say" check_patches
run "glibc's patches are signed off, and claim nothing for others" signed_off
run "glibc can be configured not to make the system call" can_be_disabled
run "no mail has more than $max_mail bytes" sizes
run "quilt takes the kernel's patches without fuzz" push linux "$top/kernel/patches"
run "quilt takes glibc's patches without fuzz" push glibc "$top/glibc-patches"
[ "$mode" != --build ] || build_linux
[ "$mode" != --build ] || build_glibc
rm -rf "$build"/export/{linux-tree,glibc-tree,obj-with,obj-without,obj-selftests}
finish
