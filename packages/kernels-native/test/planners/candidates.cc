// Prints what planners find for rows on an architecture, one variant a line: row, tab, name, tab, and for a variant that the row
// cannot have the reason. candidates SM_VERSION. Built by program.ts.
#include <cstdlib>

#include "rows.h"

int main(int argc, char** argv) {
  vd::cuda::DeviceInfo device;
  device.smVersion = argc > 1 ? std::atoi(argv[1]) : 80;
  device.hasWgmma = device.smVersion == 90;
  device.numSms = 100;
  device.hasTemplates = true;
  device.sharedBytesPerBlock = device.hasWgmma ? 232448 : 101376;  // of others the least of the architectures from sm_80 on
  vd::planners::print_products(device);
  vd::planners::print_products_in_8_bits(device);
  vd::planners::print_normed_products(device);
  vd::planners::print_attention(device);
  vd::planners::print_norms(device);
  vd::planners::print_others(device);
}
