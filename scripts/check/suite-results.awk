# SPDX-License-Identifier: MIT
#
# Turns the output of the kernel's run_kselftest.sh or glibc's evaluate-test.sh into
# lines "pass|fail|skip NAME". The result of a part of a test comes before that of the test,
# with one more "# " in front, and is named TEST/PART. Parts of names that differ from run to
# run, such as addresses, are left out.

function add(status, name)
{
	gsub(/0x[0-9a-f]+/, "0x", name)
	gsub(/[0-9][0-9.]* *(ms|ns|us|sec|seconds)/, "time", name)
	if (seen[name]++)
		name = name " (" seen[name] ")"
	print status, name
}

function flush(name,	i)
{
	for (i = 1; i <= parts; i++)
		add(part_status[i], name "/" part_name[i])
	parts = 0
}

# Earlier results that are nested deeper are parts of this one.
function hold(depth, status, name,	i)
{
	for (i = parts; i > 0 && part_depth[i] > depth; i--) {
		part_name[i] = name "/" part_name[i]
		part_depth[i] = depth
	}
	part_depth[++parts] = depth
	part_name[parts] = name
	part_status[parts] = status
}

function result(depth, line,	status)
{
	status = line ~ /^not/ ? "fail" : toupper(line) ~ /# *(SKIP|XFAIL)/ ? "skip" : "pass"
	sub(/^(not )?ok [0-9]+ *(- )?/, "", line)
	sub(/ *#.*/, "", line)
	sub(/[ \t]+$/, "", line)
	if (depth > 0) {
		hold(depth, status, line)
	} else {
		sub(/^selftests: [^:]*: /, "", line)
		flush(line)
		add(status, line)
	}
}

{ sub(/\r$/, "") }

/^# selftests: / {
	flush(test)
	test = $4
}

/^(# )*(not )?ok [0-9]+/ {
	line = $0
	for (depth = 0; sub(/^# /, "", line); depth++)
		;
	result(depth, line)
}

/^(PASS|XPASS): / { add("pass", $2) }
/^(FAIL|ERROR): / { add("fail", $2) }
/^(UNSUPPORTED|XFAIL): / { add("skip", $2) }

END { flush(test) }
