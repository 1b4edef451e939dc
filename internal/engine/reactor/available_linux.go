package reactor

// Available says whether this platform has what the engine needs.
const Available = true
