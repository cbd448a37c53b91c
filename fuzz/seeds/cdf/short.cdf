# bytes share
0 0
1e3 0.5
1000 75e-2
4096 1
