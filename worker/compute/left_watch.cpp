#include "worker/compute/left_watch.h"

#include <algorithm>
#include <utility>

#include "core/time.h"

namespace steelyard {
namespace {

const Duration watch_every = milliseconds(500);

}  // namespace

double left_share(double left, unsigned cores, unsigned threads) {
  return left < 0 ? -1 : std::min(1.0, left * cores / threads);
}

LeftWatch::LeftWatch(unsigned threads, std::function<void(double)> tell, Meter meter)
    : threads_(threads), tell_(std::move(tell)), meter_(std::move(meter)) {
  thread_ = std::thread([this] { run(); });
}

LeftWatch::~LeftWatch() {
  end_.try_push(true);
  thread_.join();
}

void LeftWatch::run() {
  while (!end_.pop(steady_now() + watch_every))
    tell_(left_share(meter_.measure().left, meter_.cores(), threads_));
}

}  // namespace steelyard
