package generation_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// What the ring has evicted is let go, and what it keeps is not: a table may be a large
// part of the process.
func TestEvictedTablesAreLetGo(t *testing.T) {
	const size, records = 3, 8
	h := generation.NewHistory(size)
	var tables []weak.Pointer[route.Table]
	for n := range uint64(records) {
		table := tableOf(t, []string{fmt.Sprintf("g%d.test", n)})
		tables = append(tables, weak.Make(table))
		h.Record(generation.Compiled{Number: n, Table: table}, time.Time{})
		runtime.GC()
		for i, w := range tables {
			if kept := i > int(n)-size; kept != (w.Value() != nil) {
				t.Errorf("after generation %d the table of %d is there: %v, want %v", n, i, !kept, kept)
			}
		}
	}
	runtime.KeepAlive(h)
}
