// The processor of this machine, and how much of it this process may use.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

// "AMD EPYC 9655", or "2 x AMD EPYC 9655" where there are several; of the text of /proc/cpuinfo.
std::string processor_name(std::string_view cpuinfo);
std::string processor_name();

// The cores that the process may run on (its affinity, which taskset and container managers set): from 1 to
// 1024, which is what a set of the usual size holds; on a larger machine all count.
unsigned allowed_cores();

}  // namespace steelyard
