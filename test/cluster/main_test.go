//go:build cluster

package cluster

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if why, required := Missing(); why != nil {
		fmt.Printf("test/cluster: none of the tests was run: %v\n", why)
		if required {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
