#include "tests/fuzz/entry.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/check.h"
#include "core/error.h"
#include "protocol/codec.h"
#include "protocol/float_code.h"
#include "protocol/journal.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/safetensors.h"
#include "transport/shared_memory/lending_frames.h"

namespace steelyard::fuzz {
namespace {

Blob owned(std::span<const std::byte> bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  const std::span<const std::byte> view(*copy);
  return {std::move(copy), view};
}

bool read_safetensors(std::span<const std::byte> file) {
  const TensorFile parsed = parse_safetensors(file, "fuzz");
  for (const StoredTensor& tensor : parsed.tensors) {
    CHECK(tensor.bytes.empty() || (tensor.bytes.data() >= file.data() &&
                                   tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size()),
          "a tensor lies outside of its file");
    std::vector<float> values(tensor.size());
    tensor.copy_to(values);
    CHECK(parsed.find(tensor.name) == &tensor, "two tensors have the same name");
  }
  return true;
}

bool read_manifest(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const Manifest manifest = parse_manifest(text, "fuzz");
  const Manifest again = parse_manifest(manifest_text(manifest), "fuzz");
  CHECK(again.layout == manifest.layout && again.seed == manifest.seed,
        "a manifest changes when it is written and read");
  return true;
}

}  // namespace

bool decode(std::span<const std::byte> bytes) {
  if (bytes.size() < 3) return false;
  const auto role = static_cast<Role>(std::to_integer<unsigned>(bytes[0]) % 8);
  const std::size_t announced =
      std::to_integer<std::size_t>(bytes[1]) | std::to_integer<std::size_t>(bytes[2]) << 8;
  const auto rest = bytes.subspan(3);
  const std::size_t payload = std::min(announced, rest.size());
  const auto header = rest.first(rest.size() - payload);
  const auto decoded = steelyard::decode(role, header, payload == 0 ? Blob() : owned(rest.last(payload)));
  const auto* message = std::get_if<Message>(&decoded);
  if (message == nullptr) return false;

  const Frames first = encode(*message);
  const auto again = steelyard::decode(role, first.header, first.payload.value_or(Blob()));
  CHECK(std::holds_alternative<Message>(again), "an accepted message must be accepted again");
  const Frames second = encode(std::get<Message>(again));
  CHECK(first.header == second.header, "a message must stay the same");
  CHECK(first.payload.has_value() == second.payload.has_value(), "its payload must stay the same");
  return true;
}

bool decode_lending(std::span<const std::byte> frame) {
  const auto decoded = steelyard::decode_lending(frame);
  const auto* content = std::get_if<LendingFrame>(&decoded);
  if (content == nullptr) return false;
  if (const auto* batch = std::get_if<Batch>(content)) {
    for (const LentMessage& it : batch->messages) {
      CHECK(it.header.data() >= frame.data() &&
                it.header.data() + it.header.size() <= frame.data() + frame.size(),
            "a header lies outside of its frame");
    }
  }
  const std::vector<std::byte> again = encode_lending(*content);
  CHECK(std::ranges::equal(again, frame), "an accepted frame must stay the same");
  return true;
}

bool read_checkpoint_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return false;
  const auto file = bytes.subspan(1);
  try {
    return std::to_integer<unsigned>(bytes[0]) % 2 == 0 ? read_safetensors(file) : read_manifest(file);
  } catch (const Failure&) {
    return false;
  }
}

bool read_float_code(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return false;
  const auto code = static_cast<FloatCode>(std::to_integer<unsigned>(bytes[0]) % 4);
  std::vector<float> values(std::to_integer<std::size_t>(bytes[1]) * 3), sums(values.size());
  const std::vector<float> base(values.size(), 1);
  const bool accepted = steelyard::decode(code, bytes.subspan(2), values);
  CHECK(accepted == add_decoded(code, bytes.subspan(2), base, sums), "decode and add_decoded differ");
  CHECK(!accepted || coded_bytes(code, values.size()) == bytes.size() - 2,
        "an accepted code has the wrong size");
  for (std::size_t i = 0; accepted && i < values.size(); ++i) {
    CHECK(sums[i] == values[i] + 1 || std::isnan(values[i]), "a sum differs from its parts");
  }
  return accepted;
}

bool read_journal(std::span<const std::byte> bytes) {
  JournalReader reader(bytes);
  std::size_t records = 0, before = 0;
  while (reader.next()) {
    CHECK(reader.read() > before && reader.read() <= bytes.size(), "a record ends outside of the journal");
    before = reader.read();
    ++records;
  }
  CHECK(!reader.next() && reader.read() == before, "the reader continues after the end");
  static_cast<void>(reader.damaged());
  return records > 0;
}

}  // namespace steelyard::fuzz
