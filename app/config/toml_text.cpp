#include "app/config/toml_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "core/text.h"

namespace steelyard {
namespace {

// Whether `text` is what `write` makes of the number it stands for. "007" and "1e3" are not.
template <class Number>
bool reads_back(const std::string& text, std::string (*write)(Number)) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && write(value) == text;
}

std::string whole_text(std::int64_t value) { return std::to_string(value); }

// "inf" and "nan" are numbers to TOML and to from_chars, but never options.
std::string finite_text(double value) { return std::isfinite(value) ? number_text(value) : std::string(); }

}  // namespace

std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7F) {
      result += "\\u00";
      result += "0123456789ABCDEF"[code >> 4];
      result += "0123456789ABCDEF"[code & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string option_text(const std::string& text) {
  const bool bare = text == "true" || text == "false" || reads_back<std::int64_t>(text, whole_text) ||
                    reads_back<double>(text, finite_text);
  return bare ? text : toml_quoted(text);
}

}  // namespace steelyard
