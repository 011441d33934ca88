// What `steelyard help TOPIC` prints of files and of what a job chooses by name: from the tables that the
// program itself reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace steelyard {

// job, scenario, hosts, model, data, policy, sync, schema, schema-scenario, schema-hosts.
const std::vector<std::string>& help_topics();

// None for a topic that there is not.
std::optional<std::string> describe(const std::string& topic);

}  // namespace steelyard
