// Package nearest finds the known word that a misspelt one was meant to be, for
// the "did you mean" of an error message.
//
// It guarantees the same answer for the same arguments, and work bounded by the
// length of the known words: a word far longer than all of them is not looked
// at. It never knows what the words are for.
package nearest

import "strings"

// maxLength bounds the words that are compared, in bytes: longer ones are not
// misspellings of a key or a flag.
const maxLength = 64

// Word returns the member of known that is nearest to word, and whether one is
// near enough to be suggested: at most one edit in three letters, where an edit
// is a letter too many, missing, wrong, or swapped with its neighbour. Upper
// case, dashes and underscores do not count, so path_type finds pathType. Of
// equally near ones the first wins.
func Word(word string, known []string) (string, bool) {
	if len(word) > maxLength {
		return "", false
	}
	folded := fold(word)
	best, found := "", false
	// One more than the edits that are allowed: none below three letters, where
	// everything is near everything.
	least := len(folded)/3 + 1
	for _, k := range known {
		if d := distance(folded, fold(k)); d < least {
			best, found, least = k, true, d
		}
	}
	return best, found
}

// Hint is Word as the end of a sentence: `, did you mean "x"?`, or nothing.
func Hint(word string, known []string) string {
	if w, ok := Word(word, known); ok {
		return `, did you mean "` + w + `"?`
	}
	return ""
}

var withoutDashes = strings.NewReplacer("-", "", "_", "")

func fold(s string) string { return withoutDashes.Replace(strings.ToLower(s)) }

// distance is the optimal string alignment distance of a and b, in bytes: three
// rows of the usual table, as a swap looks two rows back.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
