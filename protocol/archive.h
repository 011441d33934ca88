// The cereal archives for messages: little-endian, fixed width, bounded.
//
// Writer appends to a small header; a Blob becomes the message's payload frame (at most one), so tensors are
// never copied into an archive. Reader checks every size against the remaining bytes *before* it allocates.
// It throws Malformed for invalid bytes; protocol/ catches it. Pointers, polymorphism and recursive types are
// not supported.
#pragma once

#include <algorithm>
#include <bit>
#include <cereal/cereal.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/time.h"
#include "protocol/blob.h"
#include "protocol/fields.h"
#include "protocol/job.h"

namespace steelyard {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Writer : public cereal::OutputArchive<Writer, cereal::AllowEmptyClassElision> {
 public:
  Writer() : OutputArchive(this) {}

  void put(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    header.insert(header.end(), bytes, bytes + size);
  }
  void attach(const Blob& blob) {
    if (has_payload) throw Malformed("a message carries one payload at most");
    has_payload = true;
    payload = blob;
  }

  std::vector<std::byte> header;
  Blob payload;
  bool has_payload = false;
  Time now{};  // times are encoded relative to it
};

class Reader : public cereal::InputArchive<Reader, cereal::AllowEmptyClassElision> {
 public:
  Reader(std::span<const std::byte> header, Blob payload)
      : InputArchive(this), rest_(header), payload_(std::move(payload)) {}

  void get(void* data, std::size_t size) {
    if (size > rest_.size()) throw Malformed("ends too soon");
    if (size == 0) return;  // an empty string may have a null pointer
    std::memcpy(data, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  // Calls `read` with these limits: `most` elements in the first list, `each` in the lists inside it.
  template <class Read>
  void within(std::size_t most, std::size_t each, Read read) {
    const auto outer = std::pair(std::exchange(most_, most), std::exchange(each_, each));
    read();
    std::tie(most_, each_) = outer;
  }
  // Reads the length of a list, each element of which takes at least one byte.
  std::size_t get_count() {
    std::uint32_t count = 0;
    get(&count, sizeof count);
    if (count > std::exchange(most_, each_)) throw Malformed("has a longer list than its sender can need");
    if (count > rest_.size()) throw Malformed("announces more elements than it has bytes");
    return count;
  }
  // Reads the next bytes, as a view of the header.
  std::span<const std::byte> view(std::size_t size) {
    if (size > rest_.size()) throw Malformed("ends too soon");
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  Blob detach() { return std::exchange(payload_, {}); }
  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }

  Time now{};  // see Writer::now

 private:
  std::span<const std::byte> rest_;
  Blob payload_;
  std::size_t most_ = SIZE_MAX, each_ = SIZE_MAX;  // elements of the next list, and of the lists in it
};

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

template <Plain T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const T& value) {
  writer.put(&value, sizeof value);
}
template <Plain T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, T& value) {
  if constexpr (std::is_same_v<T, bool>) {  // a bool whose byte is not 0 or 1 is undefined behaviour
    std::uint8_t byte = 0;
    reader.get(&byte, 1);
    if (byte > 1) throw Malformed("has a truth that is neither yes nor no");
    value = byte == 1;
  } else {
    reader.get(&value, sizeof value);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) throw Malformed("has a number that is not finite");
    }
  }
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const cereal::SizeTag<T>& tag) {
  const auto count = static_cast<std::uint32_t>(tag.size);
  writer.put(&count, sizeof count);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<T>>(reader.get_count());
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const cereal::BinaryData<T>& data) {
  writer.put(data.data, data.size);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, cereal::BinaryData<T>& data) {
  reader.get(data.data, data.size);
}
// Vectors grow as their elements are read, so an announced size alone allocates nothing.
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const std::vector<T>& values) {
  writer(cereal::make_size_tag(values.size()));
  for (const T& value : values) writer(value);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, std::vector<T>& values) {
  std::size_t count = 0;
  reader(cereal::make_size_tag(count));
  values.clear();
  while (count-- > 0) reader(values.emplace_back());
}
// Entries of maps. Only text archives use the names.
template <class Archive, class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, cereal::NameValuePair<T>& pair) {
  archive(pair.value);
}
template <class Enum>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const UpTo<Enum>& it) {
  writer.put(&it.value, 1);
}
template <class Enum>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, UpTo<Enum>& it) {
  reader.get(&it.value, 1);
  if (it.value > it.last) throw Malformed("has a value that is not known");
}
template <Plain Number>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Positive<Number>& it) {
  writer(it.value);
}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Positive<Number>& it) {
  reader(it.value);
  if (it.value == 0) throw Malformed("has an invalid 0");
}
template <class Number>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Anything<Number>& it) {
  writer(it.value);
}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Anything<Number>& it) {
  reader.get(&it.value, sizeof it.value);
}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Anything<std::vector<Number>>& it) {
  reader.within(it.most, SIZE_MAX, [&] {
    std::size_t count = 0;
    reader(cereal::make_size_tag(count));
    it.value.clear();
    while (count-- > 0) reader(anything(it.value.emplace_back()));
  });
}
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Measured& it) { writer(it.value); }
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Measured& it) {
  reader(anything(it.value));
  if (!std::isfinite(it.value)) it.value = -1;
}
template <class List>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Bounded<List>& it) {
  writer(it.value);
}
template <class List>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Bounded<List>& it) {
  reader.within(it.most, it.each, [&] { reader(it.value); });
}
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const ForPeople& it) {
  std::size_t size = std::min(it.text.size(), it.most);
  const auto is_inside = [&] { return (static_cast<unsigned char>(it.text[size]) & 0xc0) == 0x80; };
  while (size < it.text.size() && size > 0 && is_inside()) --size;  // does not cut a UTF-8 character
  writer(cereal::make_size_tag(size), cereal::binary_data(it.text.data(), size));
}
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, ForPeople& it) {
  reader.within(it.most, it.most, [&] { reader(it.text); });
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Shared<T>& it) {
  writer(*it);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Shared<T>& it) {
  T value;
  reader(value);
  it = Shared<T>(std::move(value));
}
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Duration& it) {
  writer(static_cast<std::int64_t>(it.count()));
}
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Duration& it) {
  std::int64_t count = 0;
  reader(count);
  it = Duration(count);
}
// Times are sent relative to `now`, except Time{} and Time::max().
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Time& it) {
  const bool is_point = it != Time{} && it != Time::max();
  writer(is_point, is_point ? it - writer.now : it.since_origin);
}
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Time& it) {
  bool is_point = false;
  Duration distance{};
  reader(is_point, distance);
  it = is_point ? reader.now + distance : Time{distance};
}
inline void CEREAL_SAVE_FUNCTION_NAME(Writer& writer, const Blob& blob) { writer.attach(blob); }
inline void CEREAL_LOAD_FUNCTION_NAME(Reader& reader, Blob& blob) { blob = reader.detach(); }

// The fields of structs from other folders; structs of protocol/ have serialize() as a member
// (protocol/fields.h).
template <class Archive>
void serialize(Archive& archive, Interval& it) {
  archive(it.begin, it.end);
}
template <class Archive>
void serialize(Archive& archive, TensorPlace& it) {
  archive(bounded(it.name, limits::label), bounded(it.shape, limits::dimensions), it.offset);
}
template <class Archive>
void serialize(Archive& archive, Range& it) {
  archive(it.begin, it.end, upto(it.rule, Rule::mean), it.decay, it.norm_group, it.keep, it.rate);
}
template <class Archive>
void serialize(Archive& archive, Layout& it) {
  archive(bounded(it.tensors, limits::tensors), bounded(it.ranges, limits::ranges), it.slice_size);
}
template <class Archive>
void serialize(Archive& archive, Hubs& it) {
  archive(it.count, it.mix_every, upto(it.graph, Hubs::Graph::line));
}
template <class Archive>
void serialize(Archive& archive, SyncMode& it) {
  archive(it.slack, it.local, it.balanced, it.paced, upto(it.span, SyncMode::Span::job), it.on_arrival,
          it.divide_by_push, it.on_demand, it.equal_weights, it.steals_work, it.quorum.parts, it.quorum.of,
          it.damped, upto(it.compensation, SyncMode::Compensation::adaptive), it.lambda, it.hubs, it.backup,
          it.wait.ready, it.wait.applied, it.slows_late, it.barrier_percent, it.lookahead);
}

namespace nn {
template <class Archive>
void serialize(Archive& archive, Optimizer& it) {
  archive(upto(it.kind, Optimizer::Kind::worker), it.momentum, it.weight_decay, it.beta1, it.beta2,
          it.epsilon, it.trust);
}
template <class Archive>
void serialize(Archive& archive, Schedule& it) {
  archive(upto(it.kind, Schedule::Kind::table), it.base, it.warmup, it.epochs, it.step_epochs, it.step_factor,
          it.final, bounded(it.rates, max_rates));
}
}  // namespace nn

}  // namespace steelyard

CEREAL_REGISTER_ARCHIVE(steelyard::Writer)
CEREAL_REGISTER_ARCHIVE(steelyard::Reader)
CEREAL_SETUP_ARCHIVE_TRAITS(steelyard::Reader, steelyard::Writer)
