// A record that grows for a long time, in parts: of run/rounds.jsonl the oldest is run/rounds.1.jsonl, then
// come run/rounds.2.jsonl and so on, and run/rounds.jsonl is the one that is written. Each part but the last
// ends with a whole line. Old parts may be missing: users move them elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

// The closed part with this number, from 1.
std::string part_of(const std::string& path, std::uint64_t number);
// The numbers of the closed parts that are there, ascending.
std::vector<std::uint64_t> closed_parts(const std::string& path);
std::uint64_t last_closed_part(const std::string& path);  // 0: none

// All parts that are there, in order; the one that is written is always the last, even if it is missing.
std::vector<std::string> parts_of(const std::string& path);
std::uint64_t size_of_parts(const std::string& path);  // bytes
// The text of all parts; missing files are empty. If the record begins a new part meanwhile, it is read
// again.
std::string read_parts(const std::string& path);

// Closes the part that is written. Returns false if it cannot be renamed.
bool close_part(const std::string& path);
// Cuts the record to its state when `closed` was the last closed part and the part after it had this many
// bytes. A process that is killed meanwhile leaves a record that can be cut again. Throws
// std::filesystem::filesystem_error.
void cut_parts(const std::string& path, std::uint64_t closed, std::uint64_t bytes);

}  // namespace steelyard
