// The door: which messages of other processes reach the machine behind a link.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "protocol/blob.h"
#include "protocol/machine.h"

namespace steelyard {

// What `from` has sent to `self`, over a connection that belongs to `key` (empty: plain text, or a connection
// that this process opened itself). Nothing where it makes no sense, or is not for `from` to say.
//
// Where keys are used, the endpoint of a Hello gets the key of the connection that it came through: whoever
// connects there later meets the process that has said Hello, or nobody.
std::optional<Envelope> let_in(NodeId self, NodeId from, const std::string& key,
                               std::span<const std::byte> header, Blob payload);

}  // namespace steelyard
