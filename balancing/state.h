// The text format in which policies and predictors save their state in a checkpoint: words, each followed by
// a space.
//
// Real numbers are written with the fewest digits that restore the same bits. A text inside a text is
// prefixed with its length ("5:hello"), so that a policy can store its predictors' texts without interpreting
// them.
//
// A class lists its state once, for both directions:
//
//   void serialize(auto& fields) {
//     fields(rounds_, seconds_, at_most(8, history_));
//     fields.require(seconds_ >= 0, "a time is negative");  // checked when reading
//   }
//
// Integers and booleans are counts. Lists, sets and maps are preceded by their size, arrays are not. An
// optional is 1 and its value, or 0. Objects that save themselves as a text (predictors) are stored as one.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace steelyard::balancing {

inline constexpr std::uint64_t most_workers = 1 << 20;  // limit for a saved state; more means a corrupt text

// A number up to `most`, or a list of at most `most` elements; otherwise reading fails.
template <class Value>
struct AtMost {
  std::uint64_t most;
  Value& value;
};
template <class Value>
AtMost<Value> at_most(std::uint64_t most, Value& value) {
  return {most, value};
}

template <class Value>
inline constexpr bool is_array = false;
template <class Element, std::size_t size>
inline constexpr bool is_array<std::array<Element, size>> = true;

// Every call appends values and returns the writer, so that a state can be written in one expression.
class StateWriter {
 public:
  static constexpr bool reads = false;

  explicit StateWriter(std::string_view title) { word(title); }  // first word: owner and version of the state

  StateWriter& word(std::string_view value);  // not empty, without spaces
  StateWriter& count(std::uint64_t value);
  StateWriter& real(double value);
  StateWriter& text(std::string_view value);

  template <class... Values>
  StateWriter& operator()(const Values&... values) {
    (one(values), ...);
    return *this;
  }
  template <class Value, class Make>
  void by_slot(const std::map<std::uint32_t, Value>& values, const Make&) {
    one(values);
  }
  // Lists the fields of `it`, even if it could save itself as a text.
  template <class It>
  StateWriter& fields_of(const It& it) {
    const_cast<It&>(it).serialize(*this);  // writing changes nothing
    return *this;
  }
  static void require(bool, const char*) {}

  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  template <class Value>
  void one(const Value& value) {
    if constexpr (std::integral<Value>) {
      count(value);
    } else if constexpr (std::floating_point<Value>) {
      real(value);
    } else if constexpr (requires { value.most; }) {
      one(value.value);
    } else if constexpr (requires { value.save(); }) {
      text(value.save());
    } else if constexpr (requires(Value & its) { its.serialize(*this); }) {
      fields_of(value);
    } else if constexpr (requires { value.get(); }) {
      one(*value);
    } else if constexpr (requires { value.has_value(); }) {
      count(value ? 1 : 0);
      if (value) one(*value);
    } else if constexpr (requires { value.first; }) {
      (*this)(value.first, value.second);
    } else {
      if constexpr (!is_array<Value>) count(value.size());
      for (const auto& element : value) one(element);
    }
  }

  std::string text_;
};

// Reads the same fields in the same order. Invalid input throws Failure (io) that names the owner.
class StateReader {
 public:
  static constexpr bool reads = true;

  StateReader(std::string_view text, std::string_view title);  // both must outlive the reader

  std::uint64_t count(std::uint64_t most = UINT64_MAX);  // at most `most`
  double real();                                         // finite
  std::string text();

  template <class... Values>
  StateReader& operator()(Values&&... values) {
    (one(values), ...);
    return *this;
  }
  // A map; each value is made for its slot before it is read.
  template <class Value, class Make>
  void by_slot(std::map<std::uint32_t, Value>& values, const Make& make) {
    values.clear();
    for (std::uint64_t left = count(most_workers); left > 0; --left) {
      std::uint32_t slot = 0;
      one(slot);
      one(values.insert_or_assign(slot, make(slot)).first->second);
    }
  }
  void require(bool holds, const std::string& otherwise) const;
  void end();  // requires the end of the text

 private:
  template <class Value>
  void one(Value& value, std::uint64_t most = UINT64_MAX) {
    if constexpr (std::same_as<Value, bool>) {
      value = count(1) == 1;
    } else if constexpr (std::integral<Value>) {
      value = static_cast<Value>(count(std::min<std::uint64_t>(most, std::numeric_limits<Value>::max())));
    } else if constexpr (std::floating_point<Value>) {
      value = real();
    } else if constexpr (requires { value.most; }) {
      one(value.value, value.most);
    } else if constexpr (requires { value.save(); }) {
      value.restore(text());
    } else if constexpr (requires { value.serialize(*this); }) {
      value.serialize(*this);
    } else if constexpr (requires { value.get(); }) {
      one(*value);
    } else if constexpr (requires { value.has_value(); }) {
      value.reset();
      if (count(1) == 1) one(value.emplace());
    } else if constexpr (is_array<Value>) {
      for (auto& element : value) one(element);
    } else if constexpr (requires { typename Value::mapped_type; }) {
      by_slot(value, [](std::uint32_t) { return typename Value::mapped_type(); });
    } else {
      value.clear();
      for (std::uint64_t left = count(std::min(most, most_workers)); left > 0; --left) {
        typename Value::value_type element{};
        one(element);
        value.insert(value.end(), std::move(element));
      }
    }
  }
  std::string_view word();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string_view left_;
  std::string_view title_;
};

// A policy or predictor (`Base`) that saves the fields it lists, under It::title. It::anew() returns an
// object with the same options and no state; a failed restore() changes nothing.
template <class Base, class It>
class Saved : public Base {
 public:
  [[nodiscard]] std::string save() const final {
    return StateWriter(It::title).fields_of(static_cast<const It&>(*this)).str();
  }
  void restore(const std::string& text) final {
    It& it = static_cast<It&>(*this);
    StateReader reader(text, It::title);
    It restored = it.anew();
    restored.serialize(reader);
    reader.end();
    it = std::move(restored);
  }
};

}  // namespace steelyard::balancing
