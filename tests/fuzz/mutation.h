// Basic mutations: bits, bytes, extreme numbers, lengths, truncation, parts of other inputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/random.h"

namespace steelyard::fuzz {

using Bytes = std::vector<std::byte>;

// Applies one mutation; parts are copied from `other`.
inline void change(Bytes& bytes, const Bytes& other, Random& random) {
  const std::size_t at = random.below(bytes.size());
  const std::size_t length = 1 + random.below(std::min<std::size_t>(8, bytes.size() - at));
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto behind = place + static_cast<std::ptrdiff_t>(length);
  switch (random.below(9)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1U << random.below(8));
      return;
    case 1:
      bytes[at] = static_cast<std::byte>(random.next());
      return;
    case 2:
      std::fill(place, behind, random.below(2) == 0 ? std::byte{0xff} : std::byte{0});
      return;
    case 3:
      bytes.erase(place, behind);
      return;
    case 4: {
      const std::byte copied = bytes[random.below(bytes.size())];
      bytes.insert(place, length, copied);
      return;
    }
    case 5:
      std::swap(bytes[at], bytes[random.below(bytes.size())]);
      return;
    case 6:  // a small change, for lengths
      bytes[at] = static_cast<std::byte>(std::to_integer<unsigned>(bytes[at]) + random.below(9) - 4);
      return;
    case 7: {
      if (other.empty()) return;
      const std::size_t from = random.below(other.size());
      const std::size_t size = 1 + random.below(std::min<std::size_t>(64, other.size() - from));
      const Bytes part(other.begin() + static_cast<std::ptrdiff_t>(from),
                       other.begin() + static_cast<std::ptrdiff_t>(from + size));
      bytes.insert(place, part.begin(), part.end());
      return;
    }
    default:
      if (random.below(4) == 0) bytes.resize(at);
  }
}

// The input of a seed: one of the corpus, with up to four mutations.
inline Bytes mutated(const std::vector<Bytes>& corpus, std::uint64_t seed) {
  Random random(seed);
  Bytes bytes = corpus[random.below(corpus.size())];
  const Bytes& other = corpus[random.below(corpus.size())];
  for (std::uint64_t n = 1 + random.below(4); n-- > 0 && !bytes.empty();) change(bytes, other, random);
  return bytes;
}

}  // namespace steelyard::fuzz
