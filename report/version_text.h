// What this program is: release, protocol, kernels, devices.
#pragma once

#include <string>

namespace steelyard {

std::string version_text();

}  // namespace steelyard
