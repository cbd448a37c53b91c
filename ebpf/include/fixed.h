/* Fixed-point numbers of 32 fractional bits (Q32), unsigned: BPF has neither floating point nor,
 * with clang before 18, signed division. The same text compiles for the host, where it is
 * tested. */
#ifndef CLEARPIPE_FIXED_H
#define CLEARPIPE_FIXED_H

#ifdef __bpf__
#include "kernel.h"
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define Q32_ONE (1ULL << 32)
/* A constant; the conversion is the compiler's. */
#define Q32(x) ((u64)((x) * 4294967296.0 + 0.5))

/* The largest window [packets]: garbage from the network opens a window no further. */
#define MAX_CWND (1ULL << 20)
/* RTTs count up to this [us]: a minute. */
#define MAX_RTT_US 60000000U

static __always_inline u64 min64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a*b of two numbers below 2^40 (256.0); at most 2 units too small. */
static __always_inline u64 q32_mul(u64 a, u64 b)
{
	return (a * (b >> 24) >> 8) + (a * (b & 0xffffff) >> 32);
}

/* a*part for a part of at most 1 and any a; less than 1 unit too small. */
static __always_inline u64 q32_scale(u64 a, u64 part)
{
	return (a >> 32) * part + ((a & 0xffffffff) * part >> 32);
}

/* a/b for a below 2^44 (4096.0) and b from 1.0 on; relative error 2^-20, and 1 unit. */
static __always_inline u64 q32_div(u64 a, u64 b)
{
	return (a << 20) / (b >> 12);
}

/* rtt/base, both in us; 1 before the first sample. */
static __always_inline u64 q32_ratio(u32 rtt_us, u32 base_us)
{
	if (rtt_us == 0)
		return Q32_ONE;
	return ((u64)(rtt_us < MAX_RTT_US ? rtt_us : MAX_RTT_US) << 32) / base_us;
}

/* exp(z) - 1 for z up to 4: z is halved until it is at most 1/8, the series taken to its fifth term
 * (relative error below z^5/720 = 4.3e-8), and the halvings undone by e(2z) = e*(2 + e). */
static __always_inline u64 q32_expm1(u64 z)
{
	u64 e;
	int halvings = 0;

	z = min64(z, 4 * Q32_ONE);
#pragma unroll
	for (int i = 0; i < 5; i++) {
		if (z > Q32_ONE / 8) {
			z >>= 1;
			halvings++;
		}
	}
	e = Q32_ONE + z / 5;
	e = Q32_ONE + q32_mul(z / 4, e);
	e = Q32_ONE + q32_mul(z / 3, e);
	e = Q32_ONE + q32_mul(z / 2, e);
	e = q32_mul(z, e);
#pragma unroll
	for (int i = 0; i < 5; i++) {
		if (i < halvings)
			e = q32_mul(e, 2 * Q32_ONE + e);
	}
	return e;
}

/* VCP's AI scaling limiter: x^2, linear below `low` (slope low) and above `high` (slope 1). */
static __always_inline u64 limited_square(u64 x, u64 low, u64 high)
{
	if (x < low)
		return q32_mul(x, low);
	if (x > high)
		return (x - high) + q32_mul(high, high);
	return q32_mul(x, x);
}

/* A window [packets, Q32] within 1 and MAX_CWND. */
static __always_inline u64 sane_cwnd(u64 cwnd)
{
	return min64(max64(cwnd, Q32_ONE), MAX_CWND << 32);
}

#endif
