#include "app/render/yaml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace steelyard {
namespace {

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }

// Words that YAML 1.1 or 1.2 reads as another type than text, in any case.
bool is_reserved(std::string_view text) {
  constexpr std::array words{"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
  return std::ranges::any_of(words, [&](std::string_view word) {
    return std::ranges::equal(text, word, {}, [](char c) { return c < 'a' ? c + ('a' - 'A') : c; });
  });
}

// Text without quotes. It begins with a letter or '/', so it is no number, or is an option, as in "--size=5";
// and it has no blank, so no ": " or " #".
bool is_plain(std::string_view text) {
  if (text.starts_with("--")) text.remove_prefix(2);
  if (text.empty() || text.size() > 200 || is_reserved(text) || text.back() == ':') return false;
  if (!is_letter(text[0]) && text[0] != '/') return false;
  return std::ranges::all_of(text, [](char c) {
    return is_letter(c) || ('0' <= c && c <= '9') ||
           std::string_view("-_./:@+=").find(c) != std::string_view::npos;
  });
}

// The next code point of valid UTF-8, which is removed from the text.
std::uint32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  std::uint32_t point = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length && i < text.size(); ++i) point = point << 6 | (byte(i) & 0x3FU);
  text.remove_prefix(std::min(length, text.size()));
  return point;
}

// Whether a code point stands for itself in a block of text. YAML excludes control characters, and YAML 1.1
// takes U+0085, U+2028 and U+2029 for ends of lines.
bool is_printable(std::uint32_t point) {
  const bool control = point < 0x20 || (0x7F <= point && point <= 0x9F);
  return !control && point != 0x2028 && point != 0x2029 && point != 0xFEFF && point != 0xFFFE &&
         point != 0xFFFF;
}

// Lines of text as they are: `|` and the lines, indented. The first one must not begin with a blank, which
// would be taken for more indentation.
bool is_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') return false;
  while (!text.empty()) {
    const std::uint32_t point = take_code_point(text);
    if (!is_printable(point) && point != '\n' && point != '\t') return false;
  }
  return true;
}

std::string hexadecimal(std::uint32_t value) {
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4) text[i] = "0123456789ABCDEF"[value & 15U];
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::string_view before = text;
    const std::uint32_t point = take_code_point(text);
    if (point == '"' || point == '\\') result += '\\';
    if (is_printable(point)) {
      result += before.substr(0, before.size() - text.size());
    } else {
      result += point == '\n' ? "\\n" : "\\U" + hexadecimal(point);
    }
  }
  return result + '"';
}

std::string block(std::string_view text, const std::string& indent) {
  std::size_t ends = 0;  // line ends at the end of the text
  while (ends < text.size() && text[text.size() - 1 - ends] == '\n') ++ends;
  std::string result = ends == 0 ? "|-\n" : ends == 1 ? "|\n" : "|+\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) result += indent;
    result += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string word(const Json& value) {
  if (!value.is_string()) return dump_json(value);
  const std::string& text = value.get_ref<const std::string&>();
  return is_plain(text) ? text : in_quotes(text);
}

bool is_numbers(const Json& list) {
  return std::ranges::all_of(list, [](const Json& it) { return it.is_number(); });
}

void write(const Json& value, const std::string& indent, std::string& out);

// What follows "key:" or "-" on its line, and below it. `deeper` is the indentation of what is below.
void write_below(const Json& value, const std::string& deeper, std::string& out) {
  if (value.is_string() && is_block(value.get_ref<const std::string&>())) {
    out += " " + block(value.get_ref<const std::string&>(), deeper);
  } else if (value.is_array() && !value.empty() && is_numbers(value)) {
    std::string list;
    for (const Json& it : value) list += (list.empty() ? "" : ", ") + dump_json(it);
    out += " [" + list + "]\n";
  } else if (value.is_structured() && !value.empty()) {
    out += "\n";
    write(value, deeper, out);
  } else {
    out += " " + word(value) + "\n";
  }
}

// An object or a list that is not empty.
void write(const Json& value, const std::string& indent, std::string& out) {
  const std::string deeper = indent + "  ";
  if (value.is_array()) {
    for (const Json& it : value) {
      if (it.is_object() && !it.empty()) {  // its first key stands on the line of the "-"
        std::string lines;
        write(it, deeper, lines);
        out += indent + "- " + lines.substr(deeper.size());
      } else {
        out += indent + "-";
        write_below(it, deeper, out);
      }
    }
    return;
  }
  for (const auto& [key, it] : value.items()) {
    out += indent + word(key) + ":";
    write_below(it, deeper, out);
  }
}

}  // namespace

std::string yaml_text(const Json& document) {
  if (!document.is_structured() || document.empty()) return word(document) + "\n";
  std::string out;
  write(document, "", out);
  return out;
}

}  // namespace steelyard
