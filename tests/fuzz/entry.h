// What the fuzzers call: one function a reader of bytes from outside. Whatever the bytes are, it returns; a
// crash, a CHECK or a report of a sanitizer is a bug.
//
// script/fuzz runs them without a fuzzer; with clang's:
//
//   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DSTEELYARD_FUZZ=ON
//     -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link,address,undefined
//   ninja -C build/fuzz fuzz_decode && build/fuzz/bin/fuzz_decode -max_total_time=60 CORPUS
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steelyard::fuzz {

// First byte: the role that receives. Second and third: bytes of payload, taken from the end. The rest is the
// header. What decodes is encoded again, twice: a message that was believed once is the same ever after.
// Returns whether it was believed.
bool decode(std::span<const std::byte> bytes);

// A frame between links (wire/lending_frames.h); likewise.
bool decode_lending(std::span<const std::byte> frame);

// First byte, even: a safetensors file follows; odd: a manifest. Returns whether it was believed.
bool read_checkpoint_file(std::span<const std::byte> bytes);

// First byte: the code; second: so many values. What is decoded is finite or was no number when it came.
bool read_float_code(std::span<const std::byte> bytes);

// Returns whether there was a record.
bool read_journal(std::span<const std::byte> bytes);

// Text that people write. Each returns whether it was believed.
bool read_job(std::span<const std::byte> text);
bool read_hosts(std::span<const std::byte> text);
bool read_scenario(std::span<const std::byte> text);
bool read_sync(std::span<const std::byte> text);  // what is believed is written and read the same
bool read_keys(std::span<const std::byte> text);  // likewise

// First byte: which file of which data set (data_inputs()); the file follows, its others are as they should
// be. All samples of what is believed are read.
bool read_data_file(std::span<const std::byte> bytes);
std::vector<std::vector<std::byte>> data_inputs();  // valid ones, one a file

// What a mirror hears. Each message: u16 bytes of header, u16 of payload, both
// little-endian, then they. All come from its primary.
bool hear_as_mirror(std::span<const std::byte> said);
std::vector<std::vector<std::byte>> mirror_inputs();  // what a primary really says

}  // namespace steelyard::fuzz
