# Flow sizes of data mining: A. Greenberg et al., "VL2: A Scalable and Flexible Data Center Network",
# SIGCOMM 2009, Fig. 2.
# Thirteen points read off the figure, the tabulation that simulators of data centres share; between
# them it is linear, so the tail above 100 MB, 2 % of the flows and most of the bytes, is a guess.
# Mean 12,658,198.6 B.
# bytes    cumulative probability
0          0
180        0.1
216        0.2
560        0.3
900        0.4
1100       0.5
1870       0.6
3160       0.7
10000      0.8
400000     0.9
3160000    0.95
100000000  0.98
1000000000 1
