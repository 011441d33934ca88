// What workers, servers, hosts and jobs are called: words that people type, that stand in messages, tables
// and JSON, and that travel. A name is 1 to 64 of letters, digits, '.', '_', '-', ':', '/', '@' and '+':
// nothing that moves a cursor, breaks a line, or looks like another word.
#pragma once

#include <string_view>

namespace steelyard {

inline constexpr std::size_t longest_name = 64;  // letters

bool valid_name(std::string_view name);

// What may be given, as the end of a message that begins with "give".
const char* name_expected();

// Throws Failure (usage) that says where the name was given, as in "--name", shows the name, made harmless
// and cut where it is long, and tells what is allowed.
void check_name(std::string_view where, std::string_view name);

}  // namespace steelyard
