#include "wire/lending_frames.h"

#include "core/check.h"
#include "wire/archive.h"

namespace steelyard {
namespace {

template <class Archive>
void serialize(Archive& archive, Introduction& it) {
  archive(it.process, it.descriptor, it.segment.process[0], it.segment.process[1], it.segment.number,
          upto(it.reading, Reading::impossible));
}
template <class Archive>
void serialize(Archive& archive, Loan& it) {
  archive(it.lease, it.segment, it.descriptor, it.offset, it.size);
}

LendingFrame get(std::uint8_t kind, Reader& reader, std::span<const std::byte> frame) {
  switch (kind) {
    case 0: {
      Introduction it;
      serialize(reader, it);
      return it;
    }
    case 1: {
      LentMessage it;
      serialize(reader, it.loan);
      it.header = frame.last(reader.remaining());
      return it;
    }
    case 2: {
      Returned it;
      reader(it.leases);
      return it;
    }
    default:
      throw Malformed("is of no known kind");
  }
}

}  // namespace

bool is_lending(std::span<const std::byte> frame) {
  return frame.size() >= 2 && frame[0] == std::byte{'S'} && frame[1] == std::byte{'L'};
}

std::vector<std::byte> encode_lending(const LendingFrame& said) {
  Writer writer;
  writer(std::uint8_t{'S'}, std::uint8_t{'L'}, protocol_version, static_cast<std::uint8_t>(said.index()));
  LendingFrame copy = said;
  std::visit(Overloaded{
                 [&](Introduction& it) { serialize(writer, it); },
                 [&](LentMessage& it) {
                   serialize(writer, it.loan);
                   writer.put(it.header.data(), it.header.size());
                 },
                 [&](Returned& it) { writer(it.leases); },
             },
             copy);
  return std::move(writer.header);
}

std::variant<LendingFrame, Damage> decode_lending(std::span<const std::byte> frame) {
  if (!is_lending(frame)) return Damage{"is no link's"};
  try {
    Reader reader(frame.subspan(2), {});
    std::uint16_t protocol = 0;
    std::uint8_t kind = 0;
    reader(protocol);
    if (protocol != protocol_version) return Damage{"is of another protocol"};
    reader(kind);
    LendingFrame said = get(kind, reader, frame);
    const bool carries = std::holds_alternative<LentMessage>(said);
    if (!carries && reader.remaining() != 0) return Damage{"is longer than its fields"};
    return said;
  } catch (const Malformed& damage) {
    return Damage{damage.what()};
  }
}

}  // namespace steelyard
