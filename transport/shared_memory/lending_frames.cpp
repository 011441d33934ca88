#include "transport/shared_memory/lending_frames.h"

#include "transport/link_frame.h"

namespace steelyard {
namespace {

constexpr char lending_letter = 'L';

template <class Archive>
void serialize(Archive& archive, DevicePlace& it) {
  archive(it.bytes);
  if (it.bytes == 0) return;
  for (std::uint64_t& word : it.memory) archive(word);
  archive(it.offset, it.size);
}
template <class Archive>
void serialize(Archive& archive, Introduction& it) {
  archive(it.process, it.descriptor, it.segment.process[0], it.segment.process[1], it.segment.number,
          upto(it.reading, Reading::impossible));
  serialize(archive, it.device);
  archive(upto(it.device_reading, Reading::impossible));
}
template <class Archive>
void serialize(Archive& archive, Loan& it) {
  archive(it.lease, it.segment, it.descriptor, it.offset, it.size);
  serialize(archive, it.device);
}

void put(Writer& writer, const Batch& batch) {
  writer(batch.returned, cereal::make_size_tag(batch.messages.size()));
  for (LentMessage it : batch.messages) {
    serialize(writer, it.loan);
    writer(cereal::make_size_tag(it.header.size()));
    writer.put(it.header.data(), it.header.size());
  }
}

Batch get_batch(Reader& reader) {
  Batch batch;
  std::size_t count = 0, size = 0;
  reader(batch.returned, cereal::make_size_tag(count));
  while (count-- > 0) {
    LentMessage& it = batch.messages.emplace_back();
    serialize(reader, it.loan);
    reader(cereal::make_size_tag(size));
    it.header = reader.view(size);
  }
  return batch;
}

LendingFrame get(std::uint8_t kind, Reader& reader) {
  if (kind == 1) return get_batch(reader);
  if (kind > 1) throw Malformed("is of no known kind");
  Introduction introduction;
  serialize(reader, introduction);
  return introduction;
}

}  // namespace

bool is_lending(std::span<const std::byte> frame) { return is_link_frame(lending_letter, frame); }

std::vector<std::byte> encode_lending(const LendingFrame& said) {
  Writer writer;
  writer.header.reserve(256);
  begin_link_frame(writer, lending_letter, said.index());
  std::visit(Overloaded{
                 [&](Introduction it) { serialize(writer, it); },
                 [&](const Batch& it) { put(writer, it); },
             },
             said);
  return std::move(writer.header);
}

std::variant<LendingFrame, Damage> decode_lending(std::span<const std::byte> frame) {
  return decode_link_frame<LendingFrame>(lending_letter, frame, get);
}

}  // namespace steelyard
