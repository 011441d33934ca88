#include "app/report/terminal_text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace steelyard {
namespace {

constexpr char ellipsis[] = "…";

// The character at the beginning of a text, by the rules of UTF-8.
struct Character {
  std::size_t bytes = 1;
  std::uint32_t code = 0;
  bool valid = false;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {1, byte(0), true};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const std::uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < least || code > 0x10FFFF || surrogate) return {};
  return {bytes, code, true};
}

bool harmless(std::uint32_t code) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return first <= code && code <= last; };
  const bool control = code < 0x20 || within(0x7F, 0x9F);
  const bool line_end = within(0x2028, 0x2029);
  const bool direction = within(0x200E, 0x200F) || within(0x202A, 0x202E) || within(0x2066, 0x2069);
  return !control && !line_end && !direction;
}

std::string shown(std::string_view bytes, const Character& character) {
  if (!character.valid) return printed("\\x%02x", static_cast<unsigned char>(bytes[0]));
  if (harmless(character.code)) return std::string(bytes.substr(0, character.bytes));
  if (character.code == '\n') return "\\n";
  if (character.code == '\t') return "\\t";
  return character.code < 0x100 ? printed("\\x%02x", character.code) : printed("\\u%04x", character.code);
}

}  // namespace

std::string printed(const char* format, ...) {
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  std::string text(static_cast<std::size_t>(std::vsnprintf(nullptr, 0, format, values)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(values);
  return text;
}

std::string fixed(double value, int decimals) { return printed("%.*f", decimals, value); }

std::string count_of(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string shown_line(std::string_view text, std::size_t most) {
  std::string line;
  std::size_t columns = 0, before_last = 0;  // bytes that leave a column for the ellipsis
  while (!text.empty()) {
    const Character character = first_of(text);
    const std::string piece = shown(text, character);
    columns += columns_of(piece);
    if (columns > most) return line.substr(0, before_last) + ellipsis;
    line += piece;
    if (columns < most) before_last = line.size();
    text.remove_prefix(character.bytes);
  }
  return line;
}

std::string shown_lines(std::string_view text, std::size_t most) {
  std::string lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines += shown_line(text.substr(0, end), most) + "\n";
  }
  return lines + shown_line(text, most);
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  for (std::size_t used = 0; !text.empty();) {
    // A word, with the blanks before it.
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t blank = std::min(text.find(' ', begin), text.size());
    const std::size_t plus = text.find('+', begin);
    const std::size_t end = plus < blank ? plus + 1 : blank;
    const std::size_t columns = columns_of(text.substr(0, end));
    const bool fits = used + columns <= width || used == 0;
    if (!fits) lines += "\n" + std::string(indent, ' ');
    lines += fits ? text.substr(0, end) : text.substr(begin, end - begin);
    used = fits ? used + columns : indent + columns_of(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace steelyard
