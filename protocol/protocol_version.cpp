#include "protocol/codec.h"

namespace steelyard {

const std::uint16_t protocol_version = 24;

}  // namespace steelyard
