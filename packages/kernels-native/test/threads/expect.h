// What the programs of this folder say when something is wrong.
#pragma once
#include <cstdio>
#include <cstdlib>

/** Ends the process with `what` unless `holds`. */
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "threads: expected %s\n", what);
  std::exit(1);
}
