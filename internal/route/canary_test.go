package route

// request is a Fields by name: header fields as they are, cookies as "name=".
type request map[string]string

func (r request) Field(name string) (string, bool)  { v, ok := r[name]; return v, ok }
func (r request) Cookie(name string) (string, bool) { v, ok := r[name+"="]; return v, ok }
