//go:build !linux

package ledger

import "os"

func setAside(*os.File, int64, int64) error { return nil }
