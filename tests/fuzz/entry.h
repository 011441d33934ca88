// What the fuzzers call: one function a reader of bytes from outside. Whatever the bytes are, it returns; a
// crash, a CHECK or a report of a sanitizer is a bug.
//
//   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DSTEELYARD_FUZZ=ON
//   ninja -C build/fuzz fuzz_decode && build/fuzz/bin/fuzz_decode -max_total_time=60 CORPUS
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace steelyard::fuzz {

// First byte: the role that receives. Second and third: bytes of payload, taken from the end. The rest is the
// header. What decodes is encoded again, twice: a message that was believed once is the same ever after.
// Returns whether it was believed.
bool decode(std::span<const std::byte> bytes);

// A frame between links (wire/lending_frames.h); likewise.
bool decode_lending(std::span<const std::byte> frame);

// First byte, even: a safetensors file follows; odd: a manifest. Returns whether it was believed.
bool read_checkpoint_file(std::span<const std::byte> bytes);

}  // namespace steelyard::fuzz
