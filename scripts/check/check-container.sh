#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-container.sh
#
# Makes the image of packaging/container, builds and tests the library in it from a clone of the
# sources, and removes the image. BASE is the image to start from; without it mmdebstrap makes one
# of Debian 12. If root runs this, the clone belongs to somebody else. Prints TAP.

# Functions are called by name, and the container expands variables.
# shellcheck disable=SC2016,SC2317

set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"
engine=${CODECTL_ENGINE:-$(command -v podman docker | head -n 1)}
[ -n "$engine" ] || { echo "check-container: there is neither podman nor docker" >&2; exit 1; }
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap clean_up EXIT
clone=$work/clone
base=${BASE:-codectl-base-$$}
export CODECTL_IMAGE=codectl-check-$$ CODECTL_BASE=$base
unset CODECTL_BUILD CODECTL_CONFIGURE CODECTL_ENGINE_OPTIONS MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

clean_up()
{
	{
		"$engine" volume rm "$CODECTL_IMAGE-home"
		"$engine" image rm "$CODECTL_IMAGE"
		[ -n "${BASE:-}" ] || "$engine" image rm "$base"
	} > /dev/null 2>&1
	rm -rf "$work"
}

make_base()
{
	[ -z "${BASE:-}" ] || return 0
	mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar" \
		"$("$top/scripts/build/find-mirror.sh")" &&
		"$engine" import "$work/base.tar" "$base" && rm "$work/base.tar"
}

# The files belong to the owner of the clone.
make_clone()
{
	owner=$(id -u)
	git clone -q "$top" "$clone" && mkdir "$work/elsewhere" || return
	[ "$owner" = 0 ] || return 0
	owner=1000
	chown -R $owner:$owner "$clone" "$work/elsewhere"
}

within()
{
	"$clone/packaging/container/run.sh" "$@" < /dev/null
}

build_library()
{
	within sh -c './bootstrap && mkdir build && cd build && ../configure --disable-guest &&
		make -s -j "$(nproc)"'
}

# A source package that is small.
fetch_source()
{
	within scripts/build/fetch-sources.sh build lua && [ -s "$clone/build/sources/lua.dsc" ]
}

test_image()
{
	within true && [ "$("$engine" image inspect -f '{{.Id}}' "$CODECTL_IMAGE")" ]
}

test_packages()
{
	local said

	said=$(within ./quickstart install) || return
	echo "$said"
	[ -z "$said" ]
}

test_status()
{
	within sh -c 'exit 7'
	[ $? = 7 ]
}

# The first process of a container ignores signals, unless it is an init.
test_signal()
{
	"$clone/packaging/container/run.sh" sh -c 'touch started; exec sleep 300' < /dev/null &
	until [ -e "$clone/started" ]; do
		sleep 0.2
		kill -0 $! || return
	done
	kill $!
	wait $!
	[ $? = 143 ]
}

# /dev/kvm is there if it may be used outside, and only then.
test_kvm()
{
	if [ -w /dev/kvm ]; then
		within test -c /dev/kvm
	else
		within test ! -e /dev/kvm
	fi
}

test_elsewhere()
{
	CODECTL_BUILD=$work/elsewhere within sh -c 'echo made > "$CODECTL_BUILD/file"' &&
		[ "$(stat -c %u "$work/elsewhere/file")" = "$owner" ]
}

test_cache()
{
	within sh -c 'echo "int v;" > /tmp/v.c && ccache gcc -c /tmp/v.c -o /tmp/v.o' &&
		within ccache --print-stats | grep -q -E '^files_in_cache[[:space:]]+[1-9]'
}

test_owner()
{
	local others

	others=$(find "$clone" "$work/elsewhere" ! -uid "$owner" | head -n 20)
	echo "$others"
	[ -s "$clone/build/libcodectl/tests/region_test.log" ] && [ -z "$others" ]
}

run "a base image of Debian" make_base
make_clone || exit 1
run "the image is made of it" test_image
run "it has every package that quickstart installs" test_packages
run "the status of a command is that of run.sh" test_status
run "a signal ends the command" test_signal
run "KVM is there if the caller may use it" test_kvm
run "a source package is fetched and verified" fetch_source
rm -rf "$clone/build"
run "the library is configured and built" build_library
run "... and passes its tests" within make -s -C build/libcodectl check
run "a build directory elsewhere is mounted" test_elsewhere
run "the compiler's cache survives the container" test_cache
run "what was written belongs to the owner of the sources" test_owner
finish
