"""Real kernels: network namespaces, the emulator, end hosts in eBPF."""
