// Linked into a program before the library that defines it (protocol/protocol_version.cpp), this gives the
// program the protocol of another release.
#include "protocol/codec.h"

namespace steelyard {

const std::uint16_t protocol_version = 65'535;

}  // namespace steelyard
