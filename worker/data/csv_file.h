// CSV (RFC 4180), as spreadsheets write it: records of fields, on lines that end in LF or CRLF. A quoted
// field may contain separators, line ends and doubled quotes. Blanks around a field are no part of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/data/file_bytes.h"

namespace steelyard {

// Throws Failure (io) about a line of a file.
[[noreturn]] void refuse_line(const FileBytes& file, std::uint64_t line, const std::string& what);

// The text of a file in UTF-8, without its byte order mark. Throws Failure (io) if the file is UTF-16.
std::string_view text_in(const FileBytes& file);

// Calls `record` for each record of the file, with its first line number and its fields. Empty lines are
// ignored. `separator` 0: the one of tab, ';', '|' and ',' that is most frequent in the first record; if
// several are, the first of these. Throws Failure (io), which names the file and the line.
void read_csv(const FileBytes& file, char separator,
              const std::function<void(std::uint64_t line, const std::vector<std::string>& fields)>& record);

}  // namespace steelyard
