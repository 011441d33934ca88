// Linked into a program before the library that defines it (wire/protocol_version.cpp), this makes it one of
// another release.
#include "wire/codec.h"

namespace steelyard {

const std::uint16_t protocol_version = 65'535;

}  // namespace steelyard
