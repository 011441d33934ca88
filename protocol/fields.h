// Encoding of a message's fields. A struct that is sent has a function serialize(), which calls an archive
// with its fields in their order on the wire:
//
//   struct Ping {
//     Term term = 0;
//     static constexpr Roles senders{Role::worker};
//     void serialize(auto& fields) { fields(term); }
//   };
//
// `senders` are the roles that may send the message (protocol/authority.h). A message without them stays on
// its machine. Each list and string has a bound (protocol/limits.h), and each enumeration a last value. A new
// field changes the wire format: raise `protocol_version`. Archives: protocol/archive.h and
// protocol/message_text.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "protocol/limits.h"

namespace steelyard {

template <class T>
concept Plain = std::is_arithmetic_v<T> && sizeof(T) <= 8;

// A byte-sized enumerator that must not exceed the last one known: upto(purpose, Purpose::evaluate).
template <class Enum>
struct UpTo {
  Enum& value;
  Enum last;
};
template <class Enum>
UpTo<Enum> upto(Enum& value, Enum last) {
  static_assert(std::is_same_v<std::underlying_type_t<Enum>, std::uint8_t>);
  return {value, last};
}

// A number that is not 0: positive(grain).
template <Plain Number>
struct Positive {
  Number& value;
};
template <Plain Number>
Positive<Number> positive(Number& value) {
  return {value};
}

// A number that need not be finite: anything(loss), or a list of up to `most` such numbers. All other numbers
// must be finite.
template <class Number>
struct Anything {
  Number& value;
  std::size_t most = SIZE_MAX;
};
template <class Number>
Anything<Number> anything(Number& value, std::size_t most = SIZE_MAX) {
  return {value, most};
}

// A measurement that may be missing: measured(cpu). -1 if missing or not finite.
struct Measured {
  double& value;
};
inline Measured measured(double& value) { return {value}; }
// A list, map or string of up to `most` elements; if these are lists or strings, each has up to `each`
// elements: bounded(held, limits::pieces). The sender must respect the bound.
template <class List>
struct Bounded {
  List& value;
  std::size_t most, each;
};
template <class List>
Bounded<List> bounded(List& value, std::size_t most, std::size_t each = SIZE_MAX) {
  return {value, most, each};
}

// A text for display, of up to `most` bytes; the writer truncates longer ones.
struct ForPeople {
  std::string& text;
  std::size_t most;
};
inline ForPeople for_people(std::string& text, std::size_t most) { return {text, most}; }

}  // namespace steelyard
