package route

import (
	"reflect"
	"strings"
	"testing"
)

// TestParseTextRefuses checks that an error says in which line what was expected.
func TestParseTextRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"\nrouter a.test":                            `line 2: unknown word "router"`,
		"backend":                                    "line 1: line ends where a name was expected",
		"backend web":                                `line 1: unknown policy ""`,
		"backend web roundrobin HTTP":                `line 1: unknown policy "roundrobin"`,
		"backend web random http":                    `line 1: unknown protocol "http"`,
		"backend web random HTTP more":               `line 1: unexpected "more"`,
		"endpoint a:80":                              "line 1: endpoint without a backend above it",
		"backend web random HTTP\nendpoint":          "line 2: line ends where an address was expected",
		"backend web random HTTP\nendpoint a w=1":    `line 2: unknown option "w"`,
		"backend web random HTTP\nendpoint a weight": `line 2: option weight: strconv.Atoi: parsing "": invalid syntax`,
		"canary web":                                 "line 1: canary without a route above it",
		"mirror web":                                 "line 1: mirror without a route above it",
		"route":                                      "line 1: line ends where a host was expected",
		"route a.test":                               "line 1: line ends where a path was expected",
		"route a.test / prefix -> web":               `line 1: unknown path type "prefix"`,
		"route a.test / Prefix web":                  `line 1: "web" where "->" was expected`,
		"route a.test / Prefix ->":                   "line 1: line ends where a backend was expected",
		"route a.test / Prefix -> web age=1":         `line 1: unknown option "age"`,
		"route * / Exact -> a\ncanary":               "line 2: line ends where a backend was expected",
		"route * / Exact -> a\ncanary b weight=1/x":  `line 2: option weight: strconv.Atoi: parsing "x": invalid syntax`,
		"route * / Exact -> a\nmirror":               "line 2: line ends where a backend was expected",
		"host":                                       "line 1: line ends where a host was expected",
		"cert":                                       "line 1: line ends where a host was expected",
		"cert a.test 1":                              `line 1: certificate id "1" is not 16 hexadecimal digits`,
		"cert a.test 000000000000000x":               `line 1: certificate id "000000000000000x" is not 16 hexadecimal digits`,
		"default-backend":                            "line 1: line ends where a backend was expected",
		`host "a`:                                    `line 1: quote without an end in "\"a"`,
		`host a"b"`:                                  `line 1: quote inside the word "a"`,
	} {
		_, err := ParseText(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestParseText(t *testing.T) {
	spec := parse(t, `
		# a comment
		default-backend "the default"   # and another
		backend web leastConn GRPC
		  endpoint a:80
		  endpoint b:80 weight=0
		route *.test "" Exact -> web owner=ns/name
		  canary web weight=1 header="x y" value="#" pattern= cookie=c=d
		  mirror web
		route * /x ImplementationSpecific regex -> web created=-7
		host a.test
		cert "" 00000000000000ff created=3 owner=ns/name`)
	want := Spec{
		DefaultBackend: "the default",
		Backends: []BackendSpec{{
			Name: "web", Policy: LeastConn, Protocol: GRPC,
			Endpoints: []EndpointSpec{{"a:80", 1}, {"b:80", 0}},
		}},
		Routes: []RouteSpec{{
			Host: "*.test", PathType: Exact, Backend: "web", Created: 7, Owner: "ns/name",
			Canary: &CanarySpec{Backend: "web", Weight: 1, Header: "x y", HeaderValue: "#", Cookie: "c=d"},
			Mirror: &MirrorSpec{Backend: "web", Percent: 100},
		}, {
			Path: "/x", PathType: ImplementationSpecific, Regex: true, Backend: "web", Created: -7,
		}},
		Hosts: []string{"a.test"},
		Certs: []CertSpec{{ID: 255, Created: 3, Owner: "ns/name"}},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("got  %+v\nwant %+v", spec, want)
	}
}

// TestWords checks that every enum prints what it parses, and shows what it is not.
func TestWords(t *testing.T) {
	for word := range map[string]bool{"Exact": true, "Prefix": true, "ImplementationSpecific": true} {
		if p, err := ParsePathType(word); err != nil || p.String() != word {
			t.Errorf("%s: %v, %v", word, p, err)
		}
	}
	for _, word := range policyWords {
		if p, err := ParsePolicy(word); err != nil || p.String() != word {
			t.Errorf("%s: %v, %v", word, p, err)
		}
	}
	for _, word := range protocolWords {
		if p, err := ParseProtocol(word); err != nil || p.String() != word {
			t.Errorf("%s: %v, %v", word, p, err)
		}
	}
	if got := PathType(9).String() + Policy(9).String() + Protocol(9).String() + Kind(9).String(); got != "PathType(9)Policy(9)Protocol(9)Kind(9)" {
		t.Error(got)
	}
	if id, err := ParseCertID("0123456789abcdef"); err != nil || id.String() != "0123456789abcdef" {
		t.Errorf("certificate id %v, %v", id, err)
	}
}
