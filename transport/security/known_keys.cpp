#include "transport/security/known_keys.h"

#include <utility>

#include "core/error.h"

namespace steelyard {

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
  if (trust_ == nullptr)
    throw Failure(ExitCode::configuration,
                  place.address + " speaks only to those that have keys: give --keys");
  const std::string key = place.key.empty() ? trust_->scheduler_key() : place.key;
  if (revoked(key)) throw Failure(ExitCode::configuration, revocation({place.address, key}));
  return key;
}

std::string revocation(const KeyedEndpoint& place) {
  return "the key of " + place.address +
         " is not in the allow-list here any more: `steelyard keys add DIR ROLE NAME '" + place.key +
         "'` lets it in again";
}

}  // namespace steelyard
