# Flow sizes of web search: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, Fig. 4.
# Twelve points read off the figure, the tabulation that simulators of data centres share; between
# them it is linear, so the tail above 10 MB is a guess. Mean 1,711,250 B.
# bytes  cumulative probability
0        0
10000    0.15
20000    0.2
30000    0.3
50000    0.4
80000    0.53
200000   0.6
1000000  0.7
2000000  0.8
5000000  0.9
10000000 0.97
30000000 1
