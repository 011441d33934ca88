// `steelyard devices`: what workers can compute on here, and how fast each is.
#pragma once

#include <string>

namespace steelyard {

struct DevicesCommand {
  std::string json;  // a file, or - for standard output; empty: none
};

int run_devices(const DevicesCommand& command);

}  // namespace steelyard
