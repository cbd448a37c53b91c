/* The kill switch: `clearpipe-bpf off` and `on`. All loaded objects share this one map. While it is
 * off, routers touch no packet, and end hosts write nothing and hear nothing, so that they are
 * Reno from their next ACK on. DPCP's hosts still switch back what they receive switched. */
#ifndef CLEARPIPE_SWITCH_H
#define CLEARPIPE_SWITCH_H

#include "kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} off SEC(".maps");

static __always_inline int is_off(void)
{
	u32 zero = 0, *value = bpf_map_lookup_elem(&off, &zero);

	return value && *value;
}

#endif
