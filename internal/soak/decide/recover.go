package decide

// Record is a process as a supervisor that came back finds it: what its predecessor
// wrote down or the environment of a running process says.
type Record struct {
	Line      int
	Version   string
	Port      int
	Ready     bool   // it was seen ready
	Stopping  bool   // it was asked to stop
	StartedMS uint64 // 0 if it is not known
	// Alive is set if it still runs.
	Alive bool
	// Reboot is set if the machine was started since: that it is gone is not its
	// fault.
	Reboot bool
}

// Found is what is left of the predecessor's processes.
type Found struct {
	Processes []Process
	// Idle is set if the current release was ended by a reboot, Abandon if the one
	// that was being started was.
	Idle, Abandon bool
}

// Recover sorts the records by what the ledger knows. A process that runs is taken
// over; if it was not seen ready, its time to become so begins now, since it may be
// ready for long and nobody has asked it. One that died unwatched counts as an exit now, unless the ledger has it
// already: when it died nobody can tell, so an open window takes it into its budget,
// and a window that is over is closed first, as every late exit has it.
func Recover(b Book, records []Record, nowMS uint64) Found {
	var f Found
	for _, r := range records {
		p := Process{Line: r.Line, Version: r.Version, Port: r.Port, StartedMS: r.StartedMS}
		if p.StartedMS == 0 || r.Alive && !r.Ready {
			p.StartedMS = nowMS
		}
		switch {
		case r.Alive:
			if r.Ready {
				p.Phase, p.ReadyMS = Ready, nowMS
			}
			// To be stopped, once more: whoever asked it may not have lived to see it
			// through.
			p.Counted = r.Stopping || b.Idle || r.Version == b.State.Current && r.Line < b.ExitLine
			f.Processes = append(f.Processes, p)
		case b.Idle || r.Stopping || b.accounted(r.Version, r.Line):
		case r.Reboot && r.Line < b.lineFor(r.Version): // it is asked for anew already
		case r.Reboot:
			f.Idle = f.Idle || r.Version == b.State.Current
			f.Abandon = f.Abandon || r.Version == b.State.Starting
		default:
			p.Phase, p.GoneMS = Gone, nowMS
			f.Processes = append(f.Processes, p)
		}
	}
	return f
}
