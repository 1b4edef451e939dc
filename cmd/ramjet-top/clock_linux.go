package main

import "golang.org/x/sys/unix"

// bootClock counts on in suspend; CLOCK_MONOTONIC of Linux does not.
const bootClock = unix.CLOCK_BOOTTIME
