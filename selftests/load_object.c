// SPDX-License-Identifier: GPL-2.0
/* An object with nothing but a function, of which load_calls_test loads several. */
int load_object(void)
{
	return 1;
}
