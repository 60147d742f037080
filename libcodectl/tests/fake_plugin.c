// SPDX-License-Identifier: MIT
/* Opened by a program that has no unwinder, and needs one itself. */
void __register_frame(void *begin);
void __deregister_frame(void *begin);
void plugin_register(void *begin);
void plugin_deregister(void *begin);

void plugin_register(void *begin)
{
	__register_frame(begin);
}

void plugin_deregister(void *begin)
{
	__deregister_frame(begin);
}
