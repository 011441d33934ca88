// How payloads come to a node: over the connection, or lent in memory of the host
// (transport/shared_memory/shared_memory_transfer.h), or also in that of devices.
#pragma once

#include <cstdint>

namespace steelyard {

enum class Exchanged : std::uint8_t { sent, lent, lent_on_devices };

}  // namespace steelyard
