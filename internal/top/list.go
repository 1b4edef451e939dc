package top

// list is a cursor in a list of which a window is visible.
type list struct {
	cursor int // the selected line
	top    int // the first visible line
}

// move puts the cursor by lines further, not beyond the ends of n lines.
func (l *list) move(by, n int) { l.cursor = min(max(l.cursor+by, 0), max(n-1, 0)) }

// fit moves the window of height lines so that the cursor is in it and no line is
// left empty at the end of n lines without need. It returns the window.
func (l *list) fit(n, height int) (from, to int) {
	l.cursor = min(max(l.cursor, 0), max(n-1, 0))
	height = max(height, 1)
	l.top = min(max(l.top, l.cursor-height+1), l.cursor)
	l.top = min(max(l.top, 0), max(n-height, 0))
	return l.top, min(l.top+height, n)
}
