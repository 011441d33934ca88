#include "transport/direct/direct_frames.h"

#include "transport/link_frame.h"

namespace steelyard {
namespace {

constexpr char direct_letter = 'D';

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

bool is_direct_frame(std::span<const std::byte> frame) { return is_link_frame(direct_letter, frame); }

std::vector<std::byte> encode_direct(const DirectFrame& said) {
  Writer writer;
  begin_link_frame(writer, direct_letter, said.index());
  std::visit([&](auto it) { serialize(writer, it); }, said);
  return std::move(writer.header);
}

std::variant<DirectFrame, Damage> decode_direct(std::span<const std::byte> frame) {
  return decode_link_frame<DirectFrame>(direct_letter, frame, get_direct);
}

}  // namespace steelyard
