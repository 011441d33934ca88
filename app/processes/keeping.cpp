#include "app/processes/keeping.h"

#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "transport/host.h"

namespace steelyard {
namespace {

constexpr std::chrono::seconds between_trials{1};

// What went wrong; empty: nothing, and the checkpointer has finished.
std::string trouble_of_hosting(Checkpointer& checkpointer, NodeId node, Link& link) {
  try {
    host(checkpointer, node, link);
    return "";
  } catch (const std::bad_alloc&) {
    return "no memory is left to load or save the model";
  } catch (const std::exception& trouble) {
    return std::string("loading and saving the model failed: ") + trouble.what();
  } catch (...) {
    return "loading and saving the model failed, and nothing says why";
  }
}

}  // namespace

void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link,
          const std::function<void(const std::string&)>& say) {
  const std::stop_callback stop(told, [&] {
    link.post({{link_node, node, Message(std::in_place_type<ToCheckpointer>, Stop{})}});
  });
  std::string former;
  while (!checkpointer.finished()) {
    const std::string trouble = trouble_of_hosting(checkpointer, node, link);
    if (trouble.empty()) continue;
    if (std::exchange(former, trouble) != trouble)
      say(trouble + "; no checkpoint is written until that works again");
    if (told.stop_requested()) return;  // the link may fail for good, and would never deliver Stop
    std::this_thread::sleep_for(between_trials);
  }
}

}  // namespace steelyard
