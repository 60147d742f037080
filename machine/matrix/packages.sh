# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Part of "run": installs the packages, does what a new user does, takes the matrix while the
# service runs, and removes the packages. Prints TAP, and the progress of the matrix to
# descriptor 3.

# shellcheck source=../../scripts/check/tap.sh disable=SC1091
. "$here/tap.sh"

attached()
{
	grep -q . /proc/codectl_files
}

# within SECONDS COMMAND...
within()
{
	local left=$1

	shift
	until "$@"; do
		[ $((left--)) -gt 0 ] || return 1
		sleep 1
	done
}

converted()
{
	journalctl -u codectl-attach --no-pager | grep '[1-9][0-9]* files have tables now'
}

state()
{
	[ "$(systemctl "is-$1" codectl-attach)" = "$2" ]
}

gone()
{
	! ls -d "$@" 2> /dev/null
}

ends_at_once()
{
	local before=$SECONDS

	systemctl stop codectl-attach && [ $((SECONDS - before)) -lt 10 ] &&
		[ "$(systemctl show -P Result codectl-attach)" = success ]
}

# The commands of docs/debian.md, without questions.
install_packages()
{
	cd "$here" && DEBIAN_FRONTEND=noninteractive apt -y install ./linux-image-*.deb ./codectl_*.deb
}

# If stdout were a pipe, perf would write the recording to it.
record_once()
{
	codectl attach -a -- perf record -a -g -- sleep 10 > said
}

draw()
{
	perf script | awk -f "$here/fold.awk" > "$out/user.folded" && [ -s "$out/user.folded" ]
}

# The first steps of a new user, while a program of the distribution runs.
as_new_user()
{
	local load

	mkdir "$out/user"
	cd "$out/user" || return
	# shellcheck disable=SC2016
	setsid bash -c '. "$1"; load perl' bash "$here/loads.sh" > /dev/null 2>&1 &
	load=$!
	run "one command records with tables" record_once
	run "... what a flame graph is drawn from" draw
	cd /
	kill -KILL -- -$load
	wait $load
	run "no table is left of that" eval '! attached'
}

# With tables for everything that runs.
while_attached()
{
	run "it can be switched on" systemctl enable --now codectl-attach
	run "what runs has tables then" attached
	run "... as it says" within 10 converted
	cp /proc/codectl_files "$out/attached"
	run "it is as confined as it says" systemd-analyze security --threshold=30 codectl-attach
	phase with defer fp bpftrace offcpu bcc agree >&3
	run "it still runs" state active active
	run "an upgrade leaves it running" dpkg -i "$here"/codectl_*.deb
	run "... or starts it again" state active active
	run "it ends when it is told to" ends_at_once
	run "no table is left" eval '! attached'
	systemctl start codectl-attach
}

libc=$(sha256sum /lib/x86_64-linux-gnu/libc.so.6)
kernel=linux-image-$(uname -r)
run "kernel and codectl can be installed" install_packages
run "... and the library" dpkg -i "$here"/libcodectl*.deb
run "none replaces the C library" [ "$libc" = "$(sha256sum /lib/x86_64-linux-gnu/libc.so.6)" ]
run "codectl(1) runs" codectl --version
run "the service is off" state enabled disabled
run "... and does not run" state active inactive
if [ -e /proc/codectl_files ]; then
	as_new_user
	while_attached
else
	result 1 "this kernel has no codectl"
fi
run "the packages can be removed" dpkg -r codectl libcodectl-dev libcodectl0
run "the service ends with that" within 10 eval '! attached'
run "they can be purged" dpkg -P codectl libcodectl-dev libcodectl0
run "nothing of theirs stays" gone /usr/bin/codectl /var/cache/codectl \
	/usr/lib/systemd/system/codectl-attach.service /usr/include/codectl.h \
	/etc/systemd/system/multi-user.target.wants/codectl-attach.service
if dpkg-query -W "$kernel" 2> /dev/null | grep -q codectl; then
	run "the kernel can be removed" dpkg -P "$kernel"
	run "nothing of it stays in /boot" gone "/boot/vmlinuz-$(uname -r)" \
		"/boot/initrd.img-$(uname -r)" "/lib/modules/$(uname -r)/kernel"
fi
echo "1..$count"
