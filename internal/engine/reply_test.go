package engine

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// replies reads the replies off the source, so that one that is added is held to
// the form of all.
func replies(t *testing.T) map[string]*Reply {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reply.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Reply{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Reply") {
			return true
		}
		r := new(Reply)
		for _, e := range v.Values[0].(*ast.UnaryExpr).X.(*ast.CompositeLit).Elts {
			set(t, r, e.(*ast.KeyValueExpr))
		}
		all[v.Names[0].Name] = r
		return true
	})
	if len(all) < 20 {
		t.Fatalf("only %d replies were found", len(all))
	}
	return all
}

func set(t *testing.T, r *Reply, field *ast.KeyValueExpr) {
	t.Helper()
	value := field.Value.(*ast.BasicLit).Value
	text, _ := strconv.Unquote(value)
	switch name := field.Key.(*ast.Ident).Name; name {
	case "Status":
		r.Status, _ = strconv.Atoi(value)
	case "Text":
		r.Text = text
	case "Allow":
		r.Allow = text
	case "Unsupported":
		r.Unsupported = text
	default:
		t.Fatalf("what is %s?", name)
	}
}

// oneLine is `<status> <reason>: <what happened>`.
var oneLine = regexp.MustCompile(`^[45]\d\d [A-Z][A-Za-z -]+: [a-zA-Z][ -~]{10,140}\n$`)

func TestReplyForm(t *testing.T) {
	for name, r := range replies(t) {
		line := r.Line()
		if !oneLine.MatchString(line) {
			t.Errorf("%s: %q is not one line of words", name, line)
		}
		if (r.Status == http.StatusMethodNotAllowed) != (r.Allow != "") {
			t.Errorf("%s: Allow %q with %d (RFC 9110 section 15.5.6)", name, r.Allow, r.Status)
		}
		raw := r.AppendHTTP1([]byte("before"))
		if !bytes.HasPrefix(raw, []byte("before")) {
			t.Fatalf("%s: AppendHTTP1 does not append", name)
		}
		in := bufio.NewReader(bytes.NewReader(raw[len("before"):]))
		got, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil || string(body) != line || got.StatusCode != r.Status || got.ContentLength != int64(len(line)) || !got.Close {
			t.Errorf("%s: reads as %d %q, close %v, %v", name, got.StatusCode, body, got.Close, err)
		}
		if got.Header.Get("Content-Type") != "text/plain" || in.Buffered() > 0 {
			t.Errorf("%s: fields %v, %d bytes too many", name, got.Header, in.Buffered())
		}
	}
}

func TestReplyUnknownStatus(t *testing.T) {
	if got := (&Reply{Status: 599, Text: "nobody knows"}).Line(); got != "599 Error: nobody knows\n" {
		t.Errorf("got %q", got)
	}
}
