#include "transport/direct/direct_frames.h"

#include "core/check.h"
#include "protocol/archive.h"

namespace steelyard {
namespace {

template <class Archive>
void serialize(Archive&, DirectRequest&) {}
template <class Archive>
void serialize(Archive& archive, DirectAnswer& it) {
  archive(it.place[0], it.place[1], it.ticket[0], it.ticket[1]);
}

DirectFrame get_direct(std::uint8_t kind, Reader& reader) {
  if (kind == 0) return DirectRequest{};
  if (kind > 1) throw Malformed("is of no known kind");
  DirectAnswer answer;
  serialize(reader, answer);
  return answer;
}

}  // namespace

bool is_direct_frame(std::span<const std::byte> frame) {
  return frame.size() >= 2 && frame[0] == std::byte{'S'} && frame[1] == std::byte{'D'};
}

std::vector<std::byte> encode_direct(const DirectFrame& said) {
  Writer writer;
  writer(std::uint8_t{'S'}, std::uint8_t{'D'}, protocol_version, static_cast<std::uint8_t>(said.index()));
  std::visit([&](auto it) { serialize(writer, it); }, said);
  return std::move(writer.header);
}

std::variant<DirectFrame, Damage> decode_direct(std::span<const std::byte> frame) {
  if (!is_direct_frame(frame)) return Damage{"is not a link frame"};
  try {
    Reader reader(frame.subspan(2), {});
    std::uint16_t protocol = 0;
    std::uint8_t kind = 0;
    reader(protocol);
    if (protocol != protocol_version) return Damage{"is of another protocol"};
    reader(kind);
    const DirectFrame said = get_direct(kind, reader);
    if (reader.remaining() != 0) return Damage{"is longer than its fields"};
    return said;
  } catch (const Malformed& damage) {
    return Damage{damage.what()};
  }
}

}  // namespace steelyard
