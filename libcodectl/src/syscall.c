// SPDX-License-Identifier: MIT
/*
 * The system call.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#ifndef __NR_codectl
#define __NR_codectl 473
#endif

#define SIZE_IS(type, len)						\
	_Static_assert(sizeof(struct type) == (len), "size of struct " #type)
#define OFFSET_IS(type, field, off)					\
	_Static_assert(offsetof(struct type, field) == (off),		\
		       "offset of " #field " in struct " #type)

SIZE_IS(code_elf_info, CODE_ELF_INFO_SIZE_VER2);
OFFSET_IS(code_elf_info, sframe_start, 32);
OFFSET_IS(code_elf_info, build_id_len, 72);
OFFSET_IS(code_elf_info, unwind_format, CODE_ELF_INFO_SIZE_VER0);
OFFSET_IS(code_elf_info, sframe_addr, CODE_ELF_INFO_SIZE_VER1);
SIZE_IS(code_unregister_info, CODE_UNREGISTER_INFO_SIZE_VER0);
OFFSET_IS(code_unregister_info, text_end, 8);
SIZE_IS(code_batch, CODE_BATCH_SIZE_VER0);
OFFSET_IS(code_batch, nr, 8);
SIZE_IS(code_batch_entry, CODE_BATCH_ENTRY_SIZE);
OFFSET_IS(code_batch_entry, info, 8);
SIZE_IS(code_jit_info, CODE_JIT_INFO_SIZE_VER2);
OFFSET_IS(code_jit_info, unwind_head, 16);
OFFSET_IS(code_jit_info, jit_flags, CODE_JIT_INFO_SIZE_VER0);
OFFSET_IS(code_jit_info, fre_size, 28);
OFFSET_IS(code_jit_info, seq, 32);
OFFSET_IS(code_jit_info, cfa_off, 40);
OFFSET_IS(code_jit_info, info, 52);
SIZE_IS(code_jit_unwind_fre, CODE_JIT_UNWIND_FRE_SIZE);
OFFSET_IS(code_jit_unwind_fre, ip_off, 4);
OFFSET_IS(code_jit_unwind_fre, cfa_off, 8);
OFFSET_IS(code_jit_unwind_fre, ra_off, 12);
OFFSET_IS(code_jit_unwind_fre, fp_off, 16);
OFFSET_IS(code_jit_unwind_fre, info, 20);
SIZE_IS(code_jit_unwind_table, 24);
OFFSET_IS(code_jit_unwind_table, used_len, 8);
OFFSET_IS(code_jit_unwind_table, next, 16);
OFFSET_IS(code_jit_unwind_table, fre, 24);

int codectl_syscall(unsigned int option, const void *info, size_t info_size,
		    unsigned int flags)
{
	int saved = errno;
	int ret = syscall(__NR_codectl, option, info, info_size, flags);

	if (ret < 0)
		ret = -errno;
	errno = saved;

	return ret;
}

int codectl_probe(void)
{
	int ret = codectl_syscall(CODE_UNREGISTER, NULL, 0, CODE_FLAG_INVALID);

	if (ret == -EINVAL)
		return 0;

	/* A filter may just pretend that the call worked. */
	return ret < 0 ? ret : -ENOSYS;
}
