// Package pace decides when something that could happen often may happen again.
//
// A Holdoff lets the first change after a quiet period through at once and keeps
// those of a burst apart. A Bucket lets a burst through and then one at a time.
//
// Guarantees: both are functions of what they were told and of the time that they
// are given; neither ever asks to wait longer than its one interval.
//
// The package never knows what it is that waits, and no clock.
package pace
