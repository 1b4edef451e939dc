package terminal

import (
	"os/exec"
	"syscall"
)

// controlling makes a program the leader of a session whose terminal is its standard
// output, as a shell in a window is: changes of the size are signalled to it.
func controlling(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
}
