// SPDX-License-Identifier: GPL-2.0
/* An object with only a function; load_calls_test loads several of them. */
int load_object(void)
{
	return 1;
}
