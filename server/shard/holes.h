// The holes of a round (Open::holes, under backup workers): what lies between its positions and is of other
// rounds counts as covered in every slice, so it is neither missed nor added, whoever pushes it.
#pragma once

#include <span>

#include "server/shard/slice_memory.h"
#include "protocol/messages.h"

namespace steelyard {

// Enters them in the ledgers, once, before anything of the round is added. False, and no change, if they
// make no sense, or if some slice has not the round's version: somebody has computed from it where there are
// holes.
bool cover_holes(const Open& open, std::span<SliceMemory> slices);

}  // namespace steelyard
