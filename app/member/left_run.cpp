#include "app/member/left_run.h"

#include <filesystem>

#include "app/processes/initial_state.h"
#include "app/processes/recovered_run.h"
#include "core/error.h"
#include "core/json.h"
#include "transport/address.h"
#include "transport/security/key_files.h"

namespace steelyard {
namespace {

// The journal is of use only to the same build, on the same boot, with the same key.
std::optional<Killed> journal_left_in(const RunDirectory& run, const std::string& keys) try {
  std::optional<Killed> killed = left_by_killed(run);
  if (killed) {
    const std::string own =
        keys.empty() ? "" : load_keys(keys + "/scheduler.key", KeyRole::scheduler, "").own.public_key;
    require_key(killed->place, own, run.path());
  }
  return killed;
} catch (const Failure&) {
  return std::nullopt;
}

}  // namespace

std::optional<int> ended_with(const RunDirectory& run) try {
  const std::string text = read_text(run.result());
  if (text.empty()) return std::nullopt;
  return parse_json_strictly(text).at("exit_code").get<int>();
} catch (const Json::exception&) {
  return std::nullopt;  // of another program
}

LeftRun left_in(const RunDirectory& run, const std::string& keys, bool with_servers) {
  if (!std::filesystem::exists(run.job())) return {};
  if (with_servers && !ended_with(run)) {
    if (const auto killed = journal_left_in(run, keys)) {
      const auto place = host_port(killed->place.listen);
      return {Again::recover, place ? place->port : ""};
    }
  }
  return {list_checkpoints(run.checkpoints()).empty() ? Again::anew : Again::resume};
}

}  // namespace steelyard
