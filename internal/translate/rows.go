package translate

import (
	"time"

	"ramjet.dev/ingress/internal/route"
)

// The keys that other code speaks of.
const (
	keyProtocol      = nginxPrefix + "backend-protocol"
	keyRegex         = nginxPrefix + "use-regex"
	keyCanary        = nginxPrefix + "canary"
	keyWeight        = nginxPrefix + "canary-weight"
	keyWeightTotal   = nginxPrefix + "canary-weight-total"
	keyHeader        = nginxPrefix + "canary-by-header"
	keyHeaderValue   = nginxPrefix + "canary-by-header-value"
	keyHeaderPattern = nginxPrefix + "canary-by-header-pattern"
	keyCookie        = nginxPrefix + "canary-by-cookie"
	keyMirror        = ownPrefix + "mirror-backend"
	keyPromote       = ownPrefix + "auto-promote"
)

const (
	noRequests     = "the canary gets no requests"
	nothingMirrors = "nothing is mirrored"
)

// rows is the table of the annotations that are read.
var rows = []row{
	field(row{
		key: keyProtocol, form: "`HTTP` or `GRPC`", fallback: "HTTP",
		doc: "what is spoken to the endpoints of the Ingress's Services, in clear text",
	}, parseProtocol, func(s *settings) *route.Protocol { return &s.protocol }),
	field(row{
		key: keyRegex, form: "`true` or `false`", fallback: "false",
		doc: "paths of type ImplementationSpecific are RE2 expressions, in any case, anchored at the start",
	}, parseSwitch, func(s *settings) *bool { return &s.regex }),

	field(row{
		key: keyCanary, form: "`true` or `false`", fallback: "false",
		doc: "the Ingress is a canary: its paths join the routes of the same host, path and type in its namespace",
	}, parseSwitch, func(s *settings) *bool { return &s.canary.on }),
	field(row{
		key: keyWeight, form: "a number from 0", fallback: "0", needs: keyCanary,
		doc: "the share of requests that go to the canary, of the weight total",
	}, parseCount, func(s *settings) *int { return &s.canary.weight }),
	field(row{
		key: keyWeightTotal, form: "a number from 100", fallback: "100", needs: keyCanary,
		outcome: "the weight is taken as 0",
		spoil:   func(s *settings) { s.canary.unsure = true },
		doc:     "what the weight is a share of",
	}, parseCount, func(s *settings) *int { return &s.canary.total }),
	field(row{
		key: keyHeader, form: "the name of a header", needs: keyCanary,
		outcome: noRequests, spoil: breakCanary,
		doc: "requests with the value `always` go to the canary, with `never` they do not",
	}, parseToken, func(s *settings) *string { return &s.canary.header }),
	field(row{
		key: keyHeaderValue, form: "a value", needs: keyHeader,
		outcome: noRequests, spoil: breakCanary,
		doc: "requests whose header has this value go to the canary; `always` and `never` lose their meaning",
	}, parseText, func(s *settings) *string { return &s.canary.value }),
	field(row{
		key: keyHeaderPattern, form: "an RE2 expression", needs: keyHeader, beside: keyHeaderValue,
		outcome: noRequests, spoil: breakCanary,
		doc: "requests whose header matches go to the canary; the expression is not anchored; a value beats it",
	}, parsePattern, func(s *settings) *string { return &s.canary.pattern }),
	field(row{
		key: keyCookie, form: "the name of a cookie", needs: keyCanary,
		outcome: noRequests, spoil: breakCanary,
		doc: "requests whose cookie is `always` go to the canary, with `never` they do not",
	}, parseToken, func(s *settings) *string { return &s.canary.cookie }),

	field(row{
		key: keyMirror, form: "`[namespace/]service:port`",
		reason: ReasonMirrorRejected, outcome: nothingMirrors, spoil: breakMirror,
		doc: "a copy of the requests goes to this port, by name or number; its answers are thrown away",
	}, parseMirrorBackend, func(s *settings) *BackendRef { return &s.mirror.backend }),
	field(row{
		key: ownPrefix + "mirror-percent", form: "a number from 0 to 100", fallback: "100", needs: keyMirror,
		reason: ReasonMirrorRejected, outcome: nothingMirrors, spoil: breakMirror,
		doc: "the share of requests that are copied",
	}, parsePercent, func(s *settings) *int { return &s.mirror.percent }),
	field(row{
		key: ownPrefix + "mirror-host", form: "a host", needs: keyMirror,
		reason: ReasonMirrorRejected, outcome: nothingMirrors, spoil: breakMirror,
		doc: "the Host of the copies, in place of the client's",
	}, parseHost, func(s *settings) *string { return &s.mirror.host }),

	field(row{
		key: keyPromote, form: "`true` or `false`", fallback: "false", needs: keyCanary,
		doc: "the canary is to be promoted step by step",
	}, parseSwitch, func(s *settings) *bool { return &s.promote.on }),
	field(row{
		key: ownPrefix + "auto-promote-interval", form: "a duration from 1s", fallback: "60s", needs: keyPromote,
		doc: "the time from one decision to the next",
	}, parseInterval, func(s *settings) *time.Duration { return &s.promote.Interval }),
	field(row{
		key: ownPrefix + "auto-promote-steps", form: "percentages from 1 to 100, separated by commas", fallback: "5,10,25,50,100", needs: keyPromote,
		doc: "the weights that the canary goes through, in percent",
	}, parseSteps, func(s *settings) *[]int { return &s.promote.Steps }),
	field(row{
		key: ownPrefix + "auto-promote-max-5xx-percent", form: "a percentage", fallback: "1", needs: keyPromote,
		doc: "more answers with 5xx than this roll the canary back",
	}, parseShare, func(s *settings) *float64 { return &s.promote.Max5xxPercent }),
	field(row{
		key: ownPrefix + "auto-promote-max-latency-factor", form: "a factor from 1.0", fallback: "1.5", needs: keyPromote,
		doc: "a mean latency above that of the stable side times this rolls the canary back",
	}, parseFactor, func(s *settings) *float64 { return &s.promote.MaxLatencyFactor }),
	field(row{
		key: ownPrefix + "auto-promote-min-requests", form: "a number from 1", fallback: "50", needs: keyPromote,
		doc: "fewer requests than this in an interval, on either side, decide nothing",
	}, parsePositive, func(s *settings) *int { return &s.promote.MinRequests }),
	field(row{
		key: ownPrefix + "auto-promote-status", form: "written by the controller",
		doc: "how a promotion ended",
	}, parseText, func(s *settings) *string { return &s.promote.Status }),
	field(row{
		key: ownPrefix + "observed-generation", form: "written by the controller",
		doc: "the first generation that has the Ingress as it is, once it serves",
	}, parseText, func(s *settings) *string { return new(string) }),
}

func breakCanary(s *settings) { s.canary.broken = true }
func breakMirror(s *settings) { s.mirror.broken = true }
