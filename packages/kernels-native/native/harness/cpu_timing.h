// Times the CPU backend on the shapes of the models.
#pragma once
#include <string>

#include "../cpu/cpu_features.h"

namespace vd::harness {

/** Prints one line per shape whose name contains `filter`: microseconds, effective GFLOP/s and the share of the measured
 *  peak of fused multiply-adds. */
void time_all(cpu::Isa isa, const std::string& filter, int threads);

/** Multiply-adds per second of one core in 10^9, from registers alone. */
double peak_gflops(cpu::Isa isa);

}  // namespace vd::harness
