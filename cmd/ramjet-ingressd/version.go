package main

// version is what --version, the banner and ramjet_build_info say; a release
// build sets it with -ldflags "-X main.version=…".
var version = "0.1.0-dev"
