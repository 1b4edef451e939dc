package route

import "testing"

// TestCertificate resolves server names with the precedence of hosts: exact, one label
// of wildcard, default. Who claims a host decides, whatever names a certificate holds.
func TestCertificate(t *testing.T) {
	layouts := map[string]struct {
		certs string
		want  map[string]CertID // 0 is none
	}{
		"exact, wildcard, default": {
			"cert a.w.test 0000000000000001\ncert *.w.test 0000000000000002\ncert * 0000000000000003",
			map[string]CertID{
				"a.w.test": 1, "A.W.TEST": 1, "a.w.test.": 1, "b.w.test": 2, "B.w.Test.": 2, "-.w.test": 2,
				"a.b.w.test": 3, "w.test": 3, ".w.test": 3, "*.w.test": 3, "": 3, "other": 3, "a.w.test..": 3,
			},
		},
		"wildcard only": {
			"cert *.w.test 0000000000000002",
			map[string]CertID{"a.w.test": 2, "b.w.test": 2, "w.test": 0, "a.b.w.test": 0, "": 0},
		},
		"exact only, beside a wildcard route": {
			"route *.w.test / Prefix -> web\ncert a.w.test 0000000000000001",
			map[string]CertID{"a.w.test": 1, "b.w.test": 0},
		},
		"two tenants with certificates for one name": {
			"cert a.shop.test 0000000000000001 owner=a/a\ncert shop.test 0000000000000002 owner=b/b",
			map[string]CertID{"shop.test": 2, "a.shop.test": 1, "b.shop.test": 0},
		},
		"none": {"", map[string]CertID{"a.test": 0, "": 0}},
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			table := compileLoose(t, layout.certs)
			for server, want := range layout.want {
				id, ok := table.Certificate(server)
				if id != want || ok != (want != 0) {
					t.Errorf("%q: certificate %v, %v, want %v", server, id, ok, want)
				}
			}
		})
	}
}

// TestCertificateRotation shares what did not rotate with the kept table.
func TestCertificateRotation(t *testing.T) {
	old := compileLoose(t, "cert a.test 0000000000000001\ncert b.test 0000000000000001\ncert * 0000000000000001")
	same := compileLoose(t, "cert b.test 0000000000000001\ncert a.test 0000000000000001\ncert \"\" 0000000000000001", old)
	if id, _ := same.Certificate("a.test"); id != 1 {
		t.Errorf("certificate of a.test = %v", id)
	}
	rotated := compileLoose(t, "cert a.test 0000000000000001 created=1\ncert b.test 0000000000000002 created=2\ncert * 0000000000000001 created=3", old)
	if rotated.certs == old.certs || rotated.certs.rule("a.test") != old.certs.rule("a.test") {
		t.Error("the claim that did not change is not shared")
	}
	if id, _ := rotated.Certificate("b.test"); id != 2 {
		t.Errorf("certificate of b.test = %v", id)
	}
}
