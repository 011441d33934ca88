// Values as TOML writes them.
#pragma once

#include <string>
#include <string_view>

namespace steelyard {

std::string toml_quoted(std::string_view text);  // "so \"that\" any text can be read again"

// An option's text as a value: bare if reading it bare gives the same text back, in quotes otherwise.
std::string option_text(const std::string& text);

}  // namespace steelyard
