# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# load NAME keeps a program of the matrix busy until it is killed.

# again COMMAND... - repeats it as long as it succeeds
again()
{
	while "$@" > /dev/null; do :; done
}

# A call has seven frames: more calls would exceed the 127 frames that the tools keep.
# shellcheck disable=SC2016
load_bash()
{
	bash -c 'climb() { [ "$1" = 0 ] || climb $(($1 - 1)); }; while :; do climb 12; done'
}

# shellcheck disable=SC2016
load_perl()
{
	perl -e 'sub climb { my $n = shift; return $n ? climb($n - 1) + 1 : 0 }
		while (1) { climb(20); my @l = sort { $a <=> $b } map { $_ * 7 % 99 } 1 .. 99; }'
}

load_python3()
{
	python3 -c '
import json, re

def climb(n):
    return climb(n - 1) + 1 if n else 0

while True:
    climb(20)
    re.sub("[a-f]+", str.upper, json.dumps(sorted(range(99), key=lambda i: -i)))'
}

load_gawk()
{
	gawk 'function climb(n) { return n ? climb(n - 1) + 1 : 0 }
		BEGIN { while (1) { climb(20); gsub(/[0-9]+/, "x", s); s = s 1 climb(3)
			if (length(s) > 99) s = "" } }'
}

load_sqlite3()
{
	again sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c
		LIMIT 200000) SELECT count(*), sum(x * x), max(hex(x)) FROM c
		GROUP BY x % 7 ORDER BY 2 DESC"
}

load_postgres()
{
	again setpriv --reuid postgres --init-groups psql -q -c "SELECT md5(string_agg(i::text,
		',' ORDER BY sqrt(i) DESC)) FROM generate_series(1, 50000) i GROUP BY i % 7"
}

load_nginx()
{
	again ab -q -n 20000 -c 4 http://127.0.0.1/
}

load_node()
{
	node -e '
const climb = n => n ? climb(n - 1) + 1 : 0;
function round() {
	climb(20);
	const list = Array.from({ length: 999 }, (_, i) => ({ i, s: String(i * 7 % 99) }));
	JSON.parse(JSON.stringify(list.sort((a, b) => a.s < b.s ? -1 : 1)));
	"a1b2c3".repeat(99).replace(/[a-c]\d/g, s => s.toUpperCase());
	setImmediate(round);
}
round();'
}

load_git()
{
	local repo=/var/tmp/repo

	if [ ! -e $repo ]; then
		mkdir $repo
		cp -R /usr/include/linux $repo
		git -C $repo init -q
		git -C $repo add .
		git -C $repo -c user.name=x -c user.email=x@example.org commit -q -m x
	fi
	while :; do
		git -C $repo fsck
		git -C $repo grep -c 'struct.*;'
		git -C $repo log -p
	done > /dev/null 2>&1
}

load_g++()
{
	printf '#include <%s>\n' algorithm functional iostream map regex thread \
		> /var/tmp/large.cc
	echo 'bool f(const char *s) { return std::regex_match(s, std::regex("a+b*")); }' \
		>> /var/tmp/large.cc
	again g++ -O2 -S -o /dev/null /var/tmp/large.cc
}

load_ripgrep()
{
	again rg -c 'st(ruct|atic)\s+\w+' /usr/include /usr/lib/python3
}

load_go() { /opt/programs/spin; }
load_musl() { /opt/programs/musl; }
load_threads() { /opt/programs/threads; }

load_openssh()
{
	while :; do
		ssh localhost true
		head -c 20M /dev/zero | ssh localhost 'cat > /dev/null'
	done
}

load_systemd()
{
	while :; do
		systemctl daemon-reload
		systemctl list-units --all
		systemd-run -q --wait true
	done > /dev/null
}

load()
{
	"load_$1"
}
