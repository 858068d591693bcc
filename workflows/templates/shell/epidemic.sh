#!/bin/sh
# An epidemic in a closed population (SIR model): S' = -b S I, I' = b S I - g I, by Runge and Kutta's fourth-order method.
# Usage: sh epidemic.sh CONTACT_RATE RECOVERY_RATE FIRST_SHARE
set -eu
awk -v b="$1" -v g="$2" -v first="$3" '
function ds(s, i) { return -b * s * i }
function di(s, i) { return b * s * i - g * i }
BEGIN {
    dt = 0.05; s = 1 - first; i = first; peak = 0
    print "# day infected recovered" > "curve.txt"
    for (day = 0; day <= 60; day++) {
        printf "%d %.12e %.12e\n", day, i, 1 - s - i > "curve.txt"
        for (step = 0; step < 20; step++) {
            if (i > peak) { peak = i; when = day + step * dt }
            s1 = ds(s, i);                         i1 = di(s, i)
            s2 = ds(s + dt / 2 * s1, i + dt / 2 * i1); i2 = di(s + dt / 2 * s1, i + dt / 2 * i1)
            s3 = ds(s + dt / 2 * s2, i + dt / 2 * i2); i3 = di(s + dt / 2 * s2, i + dt / 2 * i2)
            s4 = ds(s + dt * s3, i + dt * i3);     i4 = di(s + dt * s3, i + dt * i3)
            s += dt / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
            i += dt / 6 * (i1 + 2 * i2 + 2 * i3 + i4)
        }
    }
    printf "peak share = %.12e\n", peak
    printf "peak day = %.2f\n", when
    print "EPIDEMIC: finished"
}'
