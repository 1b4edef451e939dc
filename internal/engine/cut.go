package engine

import "fmt"

// CutError says that a drain ended with its grace, and what that cost.
type CutError struct {
	// Requests is how many were still being served.
	Requests int
}

// Error says it in words.
func (e *CutError) Error() string {
	return fmt.Sprintf("still being served at the end of the grace, and cut: %d requests", e.Requests)
}
