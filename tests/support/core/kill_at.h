/* kill_at.h - a child that is killed at its n-th stop before or behind a system call (ptrace). */
#ifndef FRE_TESTS_KILL_AT_H
#define FRE_TESTS_KILL_AT_H

#include <stdbool.h>

/* Runs act(ctx) in a child; true: it came to its end before the n-th stop. */
bool runs_to_stop(long n, void (*act)(void *ctx), void *ctx);

#endif
