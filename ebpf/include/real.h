/* Numbers that are not negative, m*2^e, for laws whose quantities fit no fixed point: m has its
 * highest bit set, or is 0. Errors are relative: 2^-62 of a product or a sum, 2^-58 of a quotient.
 * BPF has neither floating point nor products of 128 bits. */
#ifndef CLEARPIPE_REAL_H
#define CLEARPIPE_REAL_H

#include "fixed.h"

struct real {
	u64 m;
	s64 e;
};

/* A constant: a part from 0.5 to below 1, times 2^power. */
#define REAL(part, power) ((struct real){ (u64)((part) * 18446744073709551616.0), (power) - 64 })
/* Fixed-point numbers end here, so that two of them can be added and subtracted. */
#define REAL_MOST (1ULL << 61)

/* How many of the highest bits are 0; 63 of 0. Without a branch, of which the verifier would follow
 * each way, and by hand, as clang 14 has no __builtin_clzll for BPF. */
static __always_inline u32 leading_zeros(u64 x)
{
	for (int by = 1; by < 64; by *= 2)
		x |= x >> by;
	/* The ones of what is left, in pairs, fours and bytes (Warren, Hacker's Delight, 5-1). */
	x = ~x & ~1ULL;
	x -= x >> 1 & 0x5555555555555555;
	x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return x * 0x0101010101010101 >> 56;
}

static __always_inline struct real real_shifted(u64 m, s64 e)
{
	u32 zeros = leading_zeros(m);

	return (struct real){ m << zeros, e - zeros };
}

static __always_inline struct real real_of(u64 n)
{
	return real_shifted(n, 0);
}

static __always_inline struct real real_mul(struct real a, struct real b)
{
	u64 ah = a.m >> 32, al = a.m & 0xffffffff, bh = b.m >> 32, bl = b.m & 0xffffffff;
	u64 middle = al * bh + (al * bl >> 32);
	u64 lower = ah * bl + (middle & 0xffffffff);
	u64 high = ah * bh + (middle >> 32) + (lower >> 32);
	u32 zeros = 1 - (high >> 63);

	return (struct real){ high << zeros, a.e + b.e + 64 - zeros };
}

/* a/b; 0 where b is. Two digits of 32 and 30 bits, by a divisor that is rounded up. */
static __always_inline struct real real_div(struct real a, struct real b)
{
	u64 high = b.m >> 32, by = high + 1, half = a.m >> 1;
	u64 first = half / by;
	u64 rest = half - first * high - (first * (b.m & 0xffffffff) >> 32);

	if (!b.m)
		return b;
	return real_shifted((first << 30) + (rest << 30) / by, a.e - b.e - 61);
}

/* m where its exponent is `by` higher. */
static __always_inline u64 real_aligned(u64 m, s64 by)
{
	return by > 63 ? 0 : m >> by;
}

static __always_inline struct real real_plus(struct real a, struct real b)
{
	struct real sum = a.e >= b.e ? a : b, less = a.e >= b.e ? b : a;

	if (!a.m)
		return b;
	if (!b.m)
		return a;
	less.m = real_aligned(less.m, sum.e - less.e);
	sum.m += less.m;
	if (sum.m < less.m) {
		sum.m = sum.m >> 1 | 1ULL << 63;
		sum.e++;
	}
	return sum;
}

/* max(a - b, 0) */
static __always_inline struct real real_minus(struct real a, struct real b)
{
	u64 less;

	if (!b.m)
		return a;
	if (!a.m || a.e < b.e)
		return (struct real){ 0, 0 };
	less = real_aligned(b.m, a.e - b.e);
	return real_shifted(a.m > less ? a.m - less : 0, a.e);
}

static __always_inline struct real real_min(struct real a, struct real b)
{
	return a.e > b.e || (a.e == b.e && a.m > b.m) ? b : a;
}

/* The fixed-point number of so many fractional bits, rounded, at most REAL_MOST. */
static __always_inline u64 real_fixed(struct real a, s64 bits)
{
	s64 right = -(a.e + bits);

	if (!a.m || right > 64)
		return 0;
	return right < 3 ? REAL_MOST : ((a.m >> (right - 1)) + 1) >> 1;
}

#endif
