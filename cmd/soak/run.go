package main

const runHelp = configHelp + `
It starts the release that serves, restarts it when it dies, keeps a candidate on
probation, and goes back to the last good release when the candidate breaks its
budget. What it does is in DIR/ledger.jsonl first, DIR being stateDir of the config.
It stays in the foreground and logs to standard error. It needs Linux.

SIGTERM or SIGINT stops the release, and then the supervisor, with status 0; a second
one kills what has not stopped yet. SIGHUP changes nothing. Status 2: it did not
begin, and no process was touched. When the supervisor is killed, the release goes on;
the next supervisor takes it over and stands where the ledger ends.
`

func runCommand() command {
	flags := newFlags("run")
	format := flags.String("log-format", "text", "form of the log: text or json")
	return command{
		name: "run", args: "CONFIG", short: "supervise a service: the deployer",
		long: runHelp, least: 1, most: 1, flags: flags,
		run: func(s streams, args []string) int { return supervised(s, *format, args[0]) },
	}
}
