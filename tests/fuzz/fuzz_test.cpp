// The fuzzers' entry points over seeded mutations of valid bytes: no fuzzer needed, the same inputs every
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/manifest.h"
#include "server/safetensors.h"
#include "tests/fuzz/entry.h"
#include "tests/wire/made_messages.h"
#include "wire/lending_frames.h"

namespace steelyard {
namespace {

using Bytes = std::vector<std::byte>;

// The changes that fuzzers begin with: bits, bytes, extreme numbers, cuts, copies of other parts.
void mutate(Bytes& bytes, Random& random) {
  for (std::uint64_t n = 0; n <= random.below(4); ++n) {
    if (bytes.empty()) return;
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(8, bytes.size() - at));
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(7)) {
      case 0:
        bytes[at] ^= static_cast<std::byte>(1U << random.below(8));
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(random.next());
        break;
      case 2:
        std::fill_n(place, length, random.below(2) == 0 ? std::byte{0xff} : std::byte{0});
        break;
      case 3:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(length));
        break;
      case 4: {
        const std::byte copied = bytes[random.below(bytes.size())];
        bytes.insert(place, length, copied);
        break;
      }
      case 5:
        std::swap(bytes[at], bytes[random.below(bytes.size())]);
        break;
      default:
        if (random.below(4) == 0) bytes.resize(at);
        break;
    }
  }
}

void append(Bytes& bytes, std::span<const std::byte> more) {
  bytes.reserve(bytes.size() + more.size());
  for (const std::byte byte : more) bytes.push_back(byte);
}

Bytes input_of(const test::MadeMessage& made) {
  const Frames frames = encode(made.message);
  const std::size_t payload = frames.payload ? frames.payload->size() : 0;
  Bytes input;
  input.push_back(static_cast<std::byte>(made.receiver));
  input.push_back(static_cast<std::byte>(payload & 0xff));
  input.push_back(static_cast<std::byte>(payload >> 8));
  append(input, frames.header);
  if (frames.payload) append(input, frames.payload->bytes());
  return input;
}

Bytes input_of(unsigned kind, const std::string& text, std::size_t more = 0) {
  Bytes input;
  input.push_back(static_cast<std::byte>(kind));
  append(input, std::as_bytes(std::span(text)));
  input.resize(input.size() + more);
  return input;
}

std::vector<Bytes> checkpoint_files() {
  Manifest manifest;
  append(manifest.layout, "conv.weight", {2, 3});
  append(manifest.layout, "conv.bias", {2}, Rule::step, 0);
  manifest.layout.slice_size = 4;
  manifest.progress.policy_state = "state";
  manifest.files["model.safetensors"] = seal({});
  const std::string header =
      safetensors_header({{"conv.weight", {2, 3}}, {"conv.bias", {2}}}, {{"format", "pt"}});
  return {input_of(1, manifest_text(manifest)), input_of(0, header, 32)};
}

TEST(Fuzz, ValidBytesAreBelieved) {
  for (const test::MadeMessage& made : test::messages_of_every_kind(1)) {
    EXPECT_TRUE(fuzz::decode(input_of(made))) << made.name();
  }
  for (const Bytes& file : checkpoint_files()) EXPECT_TRUE(fuzz::read_checkpoint_file(file));
}

TEST(Fuzz, MutatedMessagesAreBelievedOrRefused) {
  constexpr int mutations = 100'000;
  std::vector<Bytes> corpus;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const test::MadeMessage& made : test::messages_of_every_kind(seed)) corpus.push_back(input_of(made));
  }
  Random random(2024);
  int believed = 0;
  for (int i = 0; i < mutations; ++i) {
    Bytes input = corpus[random.below(corpus.size())];
    mutate(input, random);
    believed += fuzz::decode(input) ? 1 : 0;
  }
  EXPECT_GT(believed, mutations / 100) << "mutations that go everywhere";
  EXPECT_LT(believed, mutations * 9 / 10) << "mutations that damage";
}

TEST(Fuzz, MutatedFramesBetweenLinksAreBelievedOrRefused) {
  constexpr int mutations = 50'000;
  const Bytes header(40, std::byte{'h'});
  const std::vector<Bytes> corpus{
      encode_lending(Introduction{77, 5, {{1, 2}, 3}, Reading::possible}),
      encode_lending(Batch{{1, 2, 3}, {{{9, 3, 5, 64, 4096}, header}, {{}, header}}})};
  for (const Bytes& frame : corpus) EXPECT_TRUE(fuzz::decode_lending(frame));
  Random random(2026);
  int believed = 0;
  for (int i = 0; i < mutations; ++i) {
    Bytes input = corpus[random.below(corpus.size())];
    mutate(input, random);
    believed += fuzz::decode_lending(input) ? 1 : 0;
  }
  EXPECT_GT(believed, mutations / 100) << "mutations that go everywhere";
  EXPECT_LT(believed, mutations * 9 / 10) << "mutations that damage";
}

TEST(Fuzz, MutatedCheckpointsAreBelievedOrRefused) {
  constexpr int mutations = 20'000;
  const std::vector<Bytes> corpus = checkpoint_files();
  Random random(2025);
  int refused = 0;
  for (int i = 0; i < mutations; ++i) {
    Bytes input = corpus[random.below(corpus.size())];
    const std::byte kind = input[0];
    mutate(input, random);
    if (!input.empty()) input[0] = kind;
    refused += fuzz::read_checkpoint_file(input) ? 0 : 1;
  }
  EXPECT_GT(refused, mutations / 2);
}

}  // namespace
}  // namespace steelyard
