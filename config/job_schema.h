// The JSON schema of job files, for editors that complete and check TOML by one. Made from the table of keys
// (config/job_keys.h), as everything else that is said of them.
#pragma once

#include <string>

namespace steelyard {

std::string job_schema();

}  // namespace steelyard
