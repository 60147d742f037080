# SPDX-License-Identifier: MIT
#
# usage: gnuplot -e "data='FILE'; out='SVG'; name='TITLE'" bench.gnuplot
#
# Draws one line for each block of the file; the first word of a block is its title.

set terminal svg size 720,440 font 'sans,12' background 'white'
set output out
set title name
set key autotitle columnheader
stats data using 1:2 nooutput
set logscale xy
set key outside right top
set grid
plot for [i = 0:STATS_blocks - 2] data index i using 1:2 with linespoints
