/* DPCP's end hosts for paths that lose packets at random: `recovery = "decoupled"` and
 * `decoupled_loss = true`. */
#define DECOUPLED
#include "dpcp.bpf.c"
