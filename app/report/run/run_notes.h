// What the notes of the scheduler in a record tell of its members. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

// By worker, its last note without "worker 'NAME' ".
std::map<std::string, std::string> last_notes(const RunRecord& record);

// Servers that lost their mirror, or took the place of a lost server, and got no filled mirror since.
std::vector<std::string> servers_without_mirror(const RunRecord& record);
// Servers with a filled mirror.
std::set<std::string> mirrored_servers(const RunRecord& record);

}  // namespace steelyard
