#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR PACKAGES
#
# Makes DIR/root for ../ways.sh: Debian 13 with OpenJDK 21 and, as /opt/jvm, the agent and the
# test program, which are built in DIR/build with the libcodectl in PACKAGES. Files of Debian
# that exist are not made again. Needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"

jvm=/usr/lib/jvm/java-21-openjdk-amd64
make_build "" "gcc libc6-dev make openjdk-21-jdk-headless libzydis-dev"
make_tree root trixie "openjdk-21-jre-headless libzydis4.1"
rm -rf "$dir/build/engine"
mkdir -p "$dir/build/engine" "$dir/root/opt/jvm"
cp -r "$here"/* "$dir/build/engine"
in_build make -s -C /engine JAVA_HOME=$jvm libcodectl-jvm.so
in_build $jvm/bin/javac -d /engine/classes /engine/tests/Churn.java
cp -r "$dir/build/engine/libcodectl-jvm.so" "$dir/build/engine/classes" "$dir/root/opt/jvm"
