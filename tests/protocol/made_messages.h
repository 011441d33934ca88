// Messages with random contents, one of every kind that travels.
//
// Maker is an archive that generates values instead of reading them. It uses the codec's lists of fields, so
// a message added to protocol/messages.h is tested without changes here.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <cereal/types/vector.hpp>
#include "core/random.h"
#include "protocol/codec.h"

#include "protocol/archive.h"

namespace steelyard::test {

class Maker : public cereal::InputArchive<Maker, cereal::AllowEmptyClassElision> {
 public:
  explicit Maker(std::uint64_t seed, std::uint64_t longest = 5)
      : InputArchive(this), random(seed), most(longest) {}

  Random random;
  std::uint64_t most;  // elements per container
};

template <Plain T>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = maker.random.below(2) == 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(maker.random.normal());
  } else {
    value = static_cast<T>(maker.random.next() >> maker.random.below(64));
  }
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, cereal::SizeTag<T>& tag) {
  tag.size = static_cast<std::remove_reference_t<T>>(maker.random.below(maker.most + 1));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, cereal::BinaryData<T>& data) {
  using Value = std::remove_cvref_t<std::remove_pointer_t<std::remove_cvref_t<T>>>;
  if constexpr (std::is_floating_point_v<Value>) {  // random bytes may be a NaN
    auto* values = static_cast<Value*>(data.data);
    for (std::size_t i = 0; i < data.size / sizeof(Value); ++i)
      values[i] = static_cast<Value>(maker.random.normal());
    return;
  }
  auto* bytes = reinterpret_cast<unsigned char*>(data.data);
  for (std::size_t i = 0; i < data.size; ++i) bytes[i] = static_cast<unsigned char>(maker.random.next());
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, cereal::NameValuePair<T>& pair) {
  maker(pair.value);
}
template <class Enum>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, UpTo<Enum>& it) {
  it.value = static_cast<Enum>(maker.random.below(static_cast<std::uint64_t>(it.last) + 1));
}
template <Plain Number>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Positive<Number>& it) {
  maker(it.value);
  it.value |= 1;
}
template <class Number>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Anything<Number>& it) {
  maker(it.value);
  if constexpr (std::is_floating_point_v<Number>) {
    if (maker.random.below(10) == 0) it.value = std::numeric_limits<Number>::infinity();
  }
}
inline void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Measured& it) { maker(it.value); }
template <class List>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Bounded<List>& it) {
  const std::uint64_t longest = std::exchange(maker.most, std::min<std::uint64_t>(maker.most, it.most));
  maker(it.value);
  maker.most = longest;
}
inline void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, ForPeople& it) { maker(it.text); }
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Shared<T>& it) {
  T value;
  maker(value);
  it = Shared<T>(std::move(value));
}
inline void CEREAL_LOAD_FUNCTION_NAME(Maker& maker, Blob& blob) {
  std::vector<float> values(1 + maker.random.below(40));
  for (float& value : values) value = static_cast<float>(maker.random.normal());
  blob = Blob::copy_of(values);
}

// Messages that never leave their machine.
template <class T>
inline constexpr bool stays_home =
    std::is_same_v<T, Disconnected> || std::is_same_v<T, VersionMismatch> || std::is_same_v<T, Unreachable> ||
    std::is_same_v<T, Interrupt> || std::is_same_v<T, GradientReady> || std::is_same_v<T, ComputeProgress> ||
    std::is_same_v<T, CutTried> || std::is_same_v<T, Computed> || std::is_same_v<T, MachineLeft> ||
    std::is_same_v<T, MachineReading> || std::is_same_v<T, TrialTooLarge> || std::is_same_v<T, StepTaken> ||
    std::is_same_v<T, StateWritten> || std::is_same_v<T, StateLost> || std::is_same_v<T, EndRequested>;

struct MadeMessage {
  Role receiver = Role::scheduler;
  std::size_t kind = 0;
  Message message;

  [[nodiscard]] std::string name() const {
    return std::string("to ") + steelyard::name(receiver) + ", kind " + std::to_string(kind);
  }
};

template <class Receiver, std::size_t kind = 0>
void make_messages(Role receiver, Maker& maker, std::vector<MadeMessage>& made) {
  if constexpr (kind < std::variant_size_v<Receiver>) {
    using Content = std::variant_alternative_t<kind, Receiver>;
    static_assert(Travels<Content> != stays_home<Content>, "a message has senders if and only if it travels");
    if constexpr (Travels<Content>) {
      Content content;
      maker(content);
      made.push_back({receiver, kind, Message(std::in_place_type<Receiver>, std::move(content))});
    }
    make_messages<Receiver, kind + 1>(receiver, maker, made);
  }
}

inline std::vector<MadeMessage> messages_of_every_kind(std::uint64_t seed, std::uint64_t longest = 5) {
  Maker maker(seed, longest);
  std::vector<MadeMessage> made;
  make_messages<ToScheduler>(Role::scheduler, maker, made);
  make_messages<ToShard>(Role::shard, maker, made);
  make_messages<ToWorker>(Role::worker, maker, made);
  make_messages<ToCheckpointer>(Role::checkpointer, maker, made);
  make_messages<ToStandby>(Role::standby, maker, made);
  return made;
}

}  // namespace steelyard::test

CEREAL_REGISTER_ARCHIVE(steelyard::test::Maker)
