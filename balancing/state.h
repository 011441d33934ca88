// The text in which policies and predictors keep their state in a checkpoint: words with a space after each.
//
// Real numbers are written in the fewest digits that give the same bits back. A text inside a text
// carries its length before it ("5:hello"), so that a policy can keep what its predictors wrote without
// knowing what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::balancing {

inline constexpr std::uint64_t most_workers = 1 << 20;  // that a saved state may have; more is a broken text

// Every call appends one value and returns the writer, so that a state is written in one expression.
class StateWriter {
 public:
  explicit StateWriter(std::string_view title) {
    word(title);
  }  // first word: whose state it is, and which version

  StateWriter& word(std::string_view value);  // not empty, without spaces
  StateWriter& count(std::uint64_t value);
  StateWriter& real(double value);
  StateWriter& reals(const std::vector<double>& values);  // with their number
  StateWriter& text(std::string_view value);

  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  std::string text_;
};

// Reads the same in the same order. Everything that does not fit throws Failure (io) that names the owner.
class StateReader {
 public:
  StateReader(std::string_view text, std::string_view title);  // both must outlive the reader

  std::uint64_t count(std::uint64_t most = UINT64_MAX);  // refuses more than `most`
  double real();                                         // finite
  std::vector<double> reals(std::size_t most);
  std::string text();
  void require(bool holds, const std::string& otherwise) const;
  void end();  // nothing may follow

 private:
  std::string_view word();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string_view left_;
  std::string_view title_;
};

}  // namespace steelyard::balancing
