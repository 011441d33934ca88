// What this program is: release, protocol, kernels, devices.
#pragma once

#include <string>

namespace steelyard {

std::string version_text();
const char* release();  // "0.1.0"

}  // namespace steelyard
