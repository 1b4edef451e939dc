package main

import "golang.org/x/sys/unix"

// bootClock counts on in sleep, unlike Linux's clock of that name.
const bootClock = unix.CLOCK_MONOTONIC
