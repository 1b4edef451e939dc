// Package strictyaml reads YAML files that people write by hand, so that nothing in
// them is guessed or dropped: an unknown key, a key given twice, a value of the wrong
// type are faults, and all faults are reported at once, each with its line.
//
// Guarantees: what a user wrote is shown on one line and without control characters;
// no input makes it panic; the work is bounded by the size of the file, aliases
// included. Merge keys are refused.
//
// It never knows what the keys of a file mean, and reads no file itself.
package strictyaml
