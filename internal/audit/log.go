package audit

import (
	"context"
	"log/slog"
)

// LogSink returns the sink that writes every event to logger: the message, and
// the attributes as they are, at level INFO, or WARN for an event that carries a
// warning. It blocks as long as the logger's handler does.
func LogSink(logger *slog.Logger) Sink { return logSink{logger} }

type logSink struct{ logger *slog.Logger }

func (s logSink) Record(e Event) {
	level := slog.LevelInfo
	if c, ok := e.(Config); ok && c.Warning != "" {
		level = slog.LevelWarn
	}
	s.logger.LogAttrs(context.Background(), level, e.Message(), e.Attrs()...)
}
