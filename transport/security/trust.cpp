#include "transport/security/trust.h"

#include <utility>

#include "core/error.h"

namespace steelyard {
namespace {

// Many unknown keys must fill neither the disk nor the memory.
constexpr std::size_t most_lines = 32, most_told = 1024;
constexpr Duration minute = std::chrono::minutes(1);

}  // namespace

Trust::Trust(Keys keys, Say say)
    : own_(std::move(keys.own)), directory_(std::move(keys.directory)), say_(std::move(say)) {
  if (!directory_.empty()) {
    stamp_ = seen_ = stamp_of_allowed(directory_);  // read before the list, so that no change is missed
    keys.allowed = read_allowed(directory_);
  }
  take(std::move(keys.allowed));
}

// The scheduler's process also connects to itself.
void Trust::take(AllowList list) {
  if (own_.role == KeyRole::scheduler) list.insert_or_assign(own_.public_key, Allowed{own_.role, own_.name});
  auto made = std::make_shared<const AllowList>(std::move(list));
  const std::lock_guard lock(mutex_);
  allowed_.swap(made);
}

std::string Trust::scheduler_key() const {
  if (own_.role == KeyRole::scheduler) return own_.public_key;
  const std::shared_ptr<const AllowList> list = allowed();
  std::string found;
  for (const auto& [key, allowed] : *list) {
    if (allowed.role != KeyRole::scheduler) continue;
    if (!found.empty()) {
      refuse_setup(
          "the allow-list has more than one scheduler: revoke the former one (`steelyard keys revoke`)");
    }
    found = key;
  }
  if (!found.empty()) return found;
  refuse_setup("the allow-list has no key of the scheduler: `steelyard keys add " +
               (directory_.empty() ? std::string("DIR") : directory_) +
               " scheduler scheduler 'PUBLIC'`, with the key that `steelyard keys list` shows there");
}

void Trust::look() {
  if (directory_.empty()) return;
  const std::string stamp = stamp_of_allowed(directory_);
  const bool settled = std::exchange(seen_, stamp) == stamp;
  if (stamp == stamp_ || !settled) return;
  try {
    if (stamp.empty()) refuse_setup(directory_ + "/allowed no longer exists");
    take(read_allowed(directory_));
    stamp_ = stamp;
    trouble_.clear();
    say_("the allow-list has changed: " + std::to_string(allowed()->size()) + " keys");
  } catch (const Failure& trouble) {
    if (std::exchange(trouble_, trouble.what()) != trouble.what())
      say_(std::string("the previous allow-list stays in effect: ") + trouble.what());
  }
}

void Trust::refused(const std::string& key, const std::string& address, Time now) {
  auto list = allowed();
  if (list != told_under_ || told_.size() >= most_told) told_.clear();  // the refused peers may have changed
  told_under_ = std::move(list);
  if (lines_ == 0 || now - minute_ > minute) {
    minute_ = now;
    lines_ = 0;
  }
  if (lines_ >= most_lines || !told_.insert(key).second) return;
  ++lines_;
  const std::string where = directory_.empty() ? "DIR" : directory_;
  say_("refused a connection from " + address + ": its key '" + key +
       "' is not in the allow-list; to admit it: steelyard keys add " + where + " ROLE NAME '" + key + "'");
  if (lines_ == most_lines)
    say_("further unknown keys will be refused without a log line, for up to a minute");
}

KnownKeys::KnownKeys(const Trust* trust)
    : trust_(trust), allowed_(trust == nullptr ? nullptr : trust->allowed()) {}

bool KnownKeys::look() {
  if (trust_ == nullptr) return false;
  auto list = trust_->allowed();
  if (list == allowed_) return false;
  for (const auto& [key, its] : *allowed_) revoked_.insert(key);
  std::erase_if(revoked_, [&](const std::string& key) { return list->contains(key); });
  allowed_ = std::move(list);
  return true;
}

std::string KnownKeys::key_of(const KeyedEndpoint& place) const {
  if (trust_ == nullptr && place.key.empty()) return {};
  if (trust_ == nullptr) refuse_setup(place.address + " accepts only processes with keys: give --keys");
  const std::string key = place.key.empty() ? trust_->scheduler_key() : place.key;
  if (revoked(key)) refuse_setup(revocation({place.address, key}));
  return key;
}

std::string revocation(const KeyedEndpoint& place) {
  return "the key of " + place.address +
         " is no longer in the allow-list here; to admit it again: `steelyard keys add DIR ROLE NAME '" +
         place.key + "'`";
}

}  // namespace steelyard
