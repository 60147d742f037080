#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fetches the sources of the demonstration's two real programs from Debian
# and unpacks them, Debian's patches applied.
#
# usage: fetch-sources.sh DIR
#
# Leaves DIR/lua5.4 and DIR/sqlite3, and in DIR/NAME.version what was found.
# apt keeps its state in DIR/apt and verifies what it fetches against the
# archive's signature; the machine's own package lists are not touched.

set -eu -o pipefail

suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

die()
{
	echo "fetch-sources.sh: $*" >&2
	exit 1
}

# The mirror this machine takes Debian from.
find_mirror()
{
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' | sort -u | head -n 1
}

private_apt()
{
	apt-get -q -o Dir::Etc::sourcelist="$state/sources.list" \
		-o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" \
		-o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
		-o APT::Update::Error-Mode=any -o APT::Get::List-Cleanup=false "$@"
}

update()
{
	local mirror

	mirror=$(find_mirror)
	[ -n "$mirror" ] ||
		die "no Debian mirror among this machine's package sources: run apt-get update and look at /etc/apt"
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	echo "deb-src [signed-by=$keyring] $mirror $suite main" \
		> "$state/sources.list"
	private_apt update > "$state/update.log" 2>&1 ||
		die "cannot read $suite from $mirror: $(grep -m 1 '^[EW]:' "$state/update.log" || echo "see $state/update.log")"
}

# fetch PACKAGE: one step from nothing to a whole tree
fetch()
{
	local package=$1 work=$dir/$1.new dsc

	rm -rf "$work"
	mkdir -p "$work"
	(cd "$work" && private_apt source --download-only "$package") \
		> "$state/$package.log" 2>&1 ||
		die "cannot fetch the source of $package: $(grep -m 1 '^E:' "$state/$package.log" || echo "see $state/$package.log")"
	dsc=$(echo "$work"/*.dsc)
	# apt has verified the files; the uploader's key is not needed again
	dpkg-source --no-check -x "$dsc" "$work/tree" \
		> "$state/$package.log" 2>&1 ||
		die "cannot unpack $dsc: $(tail -n 1 "$state/$package.log")"
	{
		sed -n 's/^Version: //p' "$dsc" | head -n 1
		(cd "$work" && sha256sum -- *.dsc *.tar.*)
	} > "$dir/$package.version"
	mv "$work/tree" "$dir/$package"
	rm -rf "$work"
	echo "$package $(head -n 1 "$dir/$package.version") from $suite"
}

[ $# -eq 1 ] || die "usage: fetch-sources.sh DIR"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
state=$dir/apt
missing=()
for package in lua5.4 sqlite3; do
	[ -d "$dir/$package" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
update
for package in "${missing[@]}"; do
	fetch "$package"
done
