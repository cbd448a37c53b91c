/* VCP's end hosts for paths that lose packets at random: `recovery = "decoupled"`. */
#define DECOUPLED
#include "vcp.bpf.c"
