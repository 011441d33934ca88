#include "app/config/worker_keys.h"

#include "core/device_name.h"
#include "worker/compute/thread_count.h"
#include "worker/compute/throttle.h"

namespace steelyard {

std::vector<Key> worker_keys(WorkerSpec& worker) {
  return {
      Key{"name", &worker.name, Limits::plain_name(), "default: worker-0, worker-1, ...", "\"worker-0\""}
          .also({.description = true, .environment = true}),
      Key{"simulate_slowdown", &worker.simulate_slowdown,
          Limits::text_or_number(Throttle::is_slow, Throttle::slow_expected()),
          "slow its computation down by this factor, to simulate unequal machines on one"}
          .also({.description = true, .of_scripts = true})
          .formerly("slow"),
      Key{"simulate_cpu_share", &worker.simulate_cpu_share,
          Limits::text_or_number(Throttle::is_cpu, Throttle::cpu_expected()),
          "share of the processor that it may use, to simulate a shared machine; its reports show this share"}
          .formerly("cpu"),
      Key{"device", &worker.device, Limits::text(is_device_list, device_list_expected()),
          "device that it computes on; with several GPUs, one worker on each: NAME-0, NAME-1, ..."}
          .also({.of_scripts = true}),
      {"max_batch", &worker.max_batch, Limits::at_least(0),
       "most samples that fit in its memory; a larger share is computed in several turns; 0: no limit"},
      {"threads", &worker.threads, Limits::text_or_number(is_thread_count, thread_count_expected()),
       "computing threads, on a CPU"},
      Key{"background", &worker.background, Limits::any(),
          "use only cores that other programs leave idle, and pause while they need them"}
          .formerly("polite"),
      {"precision", &worker.precision, Limits::one_of(precision_names()),
       "precision of the factors in matrix products; bf16 is also that of activations, and needs a processor "
       "with AVX-512 BF16 or AMX, or a GPU; tf32 on GPUs only"},
      {"recompute", &worker.recompute, Limits::any(),
       "compute activations again in the backward pass, instead of keeping all: less memory, the same bits"},
  };
}

}  // namespace steelyard
