/* Makes one system call of this process fail from now on, as an old kernel or a plain file system
 * would: for tests of fall-backs, in a forked child. */
#ifndef FRE_TESTS_DENY_SYSCALL_H
#define FRE_TESTS_DENY_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

/* Calls number `nr` whose argument `arg` has all bits of `mask` set (mask 0: every call) return
 * `error`.  False: the system has no such filters. */
bool deny_syscall(uint32_t nr, uint32_t arg, uint32_t mask, uint32_t error);

#endif /* FRE_TESTS_DENY_SYSCALL_H */
