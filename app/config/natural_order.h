// The order in which people look for names: numbers within them count as numbers, so that worker-2 comes
// before worker-10.
#pragma once

#include <string_view>

namespace steelyard {

bool natural_less(std::string_view a, std::string_view b);  // a strict order: only equal texts are equal

}  // namespace steelyard
