//go:build race

package route

// raceEnabled tells that sync.Pool drops things on purpose, so that regexp allocates.
const raceEnabled = true
