#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: run.sh COMMAND [ARG...]
#
# Runs a command at the top of the source tree, in a container of Debian that has quickstart's
# packages. The source tree and the build directory have the names they have outside, and what
# is written there belongs to the owner of the source tree. docs/other-distributions.md has the
# environment variables.

set -u

die()
{
	echo "container: $*" >&2
	exit 125
}

[ $# -ge 1 ] || die "usage: run.sh COMMAND [ARG...]"
here=$(cd "$(dirname "$0")" && pwd -P)
top=$(cd "$here/../.." && pwd -P)
image=${CODECTL_IMAGE:-codectl-build}

find_engine()
{
	local said

	engine=${CODECTL_ENGINE:-$(command -v podman docker | head -n 1)}
	[ -n "$engine" ] || die "there is neither podman nor docker: install one of them"
	said=$("$engine" info 2>&1) || die "$engine does not work: $(tail -n 1 <<< "$said")"
	# podman and docker report this differently.
	rootless=no
	! grep -q -E '^ *rootless(: true)?$' <<< "$said" || rootless=yes
}

# Takes seconds if nothing has changed.
build_image()
{
	local context

	context=$(mktemp -d) || exit 125
	trap 'rm -rf "$context"' EXIT
	cp "$here/Containerfile" "$top/quickstart" "$context" || exit 125
	"$engine" image inspect "$image" > /dev/null 2>&1 ||
		echo "container: making the image $image, which takes some minutes" >&2
	"$engine" build -q -t "$image" ${CODECTL_BASE:+--build-arg BASE="$CODECTL_BASE"} \
		-f "$context/Containerfile" "$context" > /dev/null ||
		die "$engine cannot build $image from packaging/container/Containerfile"
	rm -rf "$context"
	trap - EXIT
}

choose_options()
{
	local dir

	options=(--rm --init -i -w "$top" -v "$top:$top" -v "$image-home:/home/codectl"
		-e CODECTL_CONFIGURE -e CODECTL_ACCEL -e CODECTL_WAIT -e JOBS
		--security-opt label=disable)
	[ ! -t 0 ] || [ ! -t 1 ] || options+=(-t)
	if [ -n "${CODECTL_BUILD:-}" ] || [ -L "$top/build" ]; then
		dir=$(realpath -e "${CODECTL_BUILD:-$top/build}") || die "the build directory must exist"
		options+=(-v "$dir:$dir" -e "CODECTL_BUILD=$dir")
	fi
	# The root of a rootless container is the caller.
	[ $rootless = yes ] || options+=(--user "$(stat -c %u:%g "$top")")
	[ ! -w /dev/kvm ] || options+=(--device /dev/kvm --group-add "$(kvm_group)")
}

# Rootless podman keeps the caller's groups, since it can give no others.
kvm_group()
{
	if [ $rootless = yes ] && [[ ${engine##*/} = podman ]]; then
		echo keep-groups
	else
		stat -c %g /dev/kvm
	fi
}

find_engine
build_image
choose_options
# shellcheck disable=SC2086
exec "$engine" run "${options[@]}" ${CODECTL_ENGINE_OPTIONS:-} "$image" "$@"
