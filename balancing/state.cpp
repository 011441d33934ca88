#include "balancing/state.h"

#include <array>
#include <charconv>

#include "core/check.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard::balancing {

StateWriter& StateWriter::word(std::string_view value) {
  CHECK(!value.empty() && value.find(' ') == std::string_view::npos, "a word of a saved state has a space");
  text_.append(value).push_back(' ');
  return *this;
}

StateWriter& StateWriter::count(std::uint64_t value) { return word(std::to_string(value)); }

StateWriter& StateWriter::real(double value) {
  // Without a format, to_chars writes the shortest text that reads back as the same bits.
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc(), "32 characters hold any double");
  return word({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

StateWriter& StateWriter::text(std::string_view value) {
  text_.append(std::to_string(value.size())).append(":").append(value).push_back(' ');
  return *this;
}

StateReader::StateReader(std::string_view text, std::string_view title) : left_(text), title_(title) {
  if (word() != title) refuse("it has another title");
}

// A word without a space behind it is truncated: even the last one has its space.
std::string_view StateReader::word() {
  const std::size_t length = left_.find(' ');
  if (length == std::string_view::npos) refuse("it ends too early");
  const std::string_view found = left_.substr(0, length);
  left_.remove_prefix(length + 1);
  return found;
}

std::uint64_t StateReader::count(std::uint64_t most) {
  const std::string_view digits = word();
  const auto value = number_in<std::uint64_t>(digits);
  if (!value || *value > most) {
    refuse(std::string(digits).append(" is not a count up to ") + std::to_string(most));
  }
  return *value;
}

double StateReader::real() {
  const std::string_view digits = word();
  const auto value = number_in<double>(digits);
  if (!value) refuse(std::string(digits).append(" is not a finite number"));
  return *value;
}

std::string StateReader::text() {
  const std::size_t colon = left_.find(':');
  if (colon == std::string_view::npos) refuse("it ends too early");
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(left_.data(), left_.data() + colon, size);
  left_.remove_prefix(colon + 1);
  // The byte behind the text is its closing space, hence >= and not >.
  if (error != std::errc() || size >= left_.size()) refuse("a text in it has a wrong length");
  std::string found(left_.substr(0, size));
  left_.remove_prefix(size + 1);
  return found;
}

void StateReader::require(bool holds, const std::string& otherwise) const {
  if (!holds) refuse(otherwise);
}

void StateReader::end() { require(left_.empty(), "data follows its end"); }

void StateReader::refuse(const std::string& what) const {
  throw Failure(ExitCode::io,
                "saved state of '" + std::string(title_) + "': " + what +
                    "; resume from an older checkpoint, or with the policy that wrote this one");
}

}  // namespace steelyard::balancing
