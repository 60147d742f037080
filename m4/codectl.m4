# SPDX-License-Identifier: MIT

# CODECTL_NEED(PROGRAM, PACKAGE) - a program the build cannot do without
AC_DEFUN([CODECTL_NEED], [
	AC_MSG_CHECKING([for $1])
	AS_IF([(PATH=$PATH:/usr/sbin:/sbin; command -v $1) > /dev/null],
		[AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		 AC_MSG_ERROR([$1 is missing: apt-get install $2])])
])

# CODECTL_NEED_HEADER(HEADER, PACKAGE)
AC_DEFUN([CODECTL_NEED_HEADER], [
	AC_CHECK_HEADER([$1], [],
		[AC_MSG_ERROR([$1 is missing: apt-get install $2])])
])

# CODECTL_NEED_MODULE(MODULE, PACKAGE) - a library, by pkg-config
AC_DEFUN([CODECTL_NEED_MODULE], [
	AC_MSG_CHECKING([for $1])
	AS_IF([pkg-config --exists $1],
		[AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		 AC_MSG_ERROR([$1 is missing: apt-get install $2])])
])

# CODECTL_SOURCE(NAME) - the source of NAME: a tree or tarball of the user's,
# or what the stage "sources" fetches. Sets NAME_source and NAME_report.
AC_DEFUN([CODECTL_SOURCE], [
	AC_ARG_WITH([$1-source],
		[AS_HELP_STRING([--with-$1-source=PATH],
			[tree or tarball of $1 instead of Debian's])],
		[], [with_$1_source=])
	AS_IF([test -n "$with_$1_source"], [
		AS_CASE([$with_$1_source], [yes|no],
			[AC_MSG_ERROR([--with-$1-source needs a tree or tarball])],
			[/*], [], [with_$1_source=$(pwd)/$with_$1_source])
		AC_MSG_CHECKING([the $1 source])
		AS_IF([$1_report=$("$srcdir/scripts/build/source-version.sh" $1 "$with_$1_source" 2>&1)],
			[$1_report="$$1_report in $with_$1_source"],
			[AC_MSG_RESULT([refused])
			 AC_MSG_ERROR([$$1_report])])
		AC_MSG_RESULT([$$1_report])
	], [test -e sources/$1.found], [
		$1_report=$(. ./sources/$1.found && echo "$package $version from $suite")
	], [
		$1_report="to be fetched by 'make sources'"
	])
	AC_SUBST([$1_source], [$with_$1_source])
])
