package config

import (
	"regexp"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/strictyaml"
)

// placeholders are what Expand replaces.
var placeholders = []string{"port", "version"}

var braced = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// misspelt reports words in braces that were meant as placeholders. Other braces are the
// program's business.
func misspelt(o strictyaml.Object, line int, name, text string) {
	for _, word := range braced.FindAllStringSubmatch(text, -1) {
		if meant, near := nearest.Word(word[1], placeholders); near && meant != word[1] {
			o.Report(line, "%s has %s in it: did you mean {%s}?", name, word[0], meant)
		}
	}
}
