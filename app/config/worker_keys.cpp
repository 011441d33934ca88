#include "app/config/worker_keys.h"

#include "core/device_name.h"
#include "worker/compute/thread_count.h"
#include "worker/compute/throttle.h"

namespace steelyard {

std::vector<Key> worker_keys(WorkerSpec& worker) {
  return {
      Key{"name", &worker.name, Limits::plain_name(), "left out: worker-0, worker-1, ...", "\"worker-0\""}
          .also({.description = true, .environment = true}),
      Key{"simulate_slowdown", &worker.simulate_slowdown,
          Limits::text_or_number(Throttle::is_slow, Throttle::slow_expected()),
          "slows its computation down by this factor, to try unequal machines on one"}
          .also({.description = true, .of_scripts = true})
          .formerly("slow"),
      Key{"simulate_cpu_share", &worker.simulate_cpu_share,
          Limits::text_or_number(Throttle::is_cpu, Throttle::cpu_expected()),
          "share of its processor that it may use, to try a machine that others use too; its reports show it"}
          .formerly("cpu"),
      Key{"device", &worker.device, Limits::text(is_device_list, device_list_expected()),
          "what it computes on; of several GPUs each has a worker, NAME-0, NAME-1, ..."}
          .also({.of_scripts = true}),
      {"max_batch", &worker.max_batch, Limits::at_least(0),
       "samples that fit its memory at once; 0: no limit"},
      {"threads", &worker.threads, Limits::text_or_number(is_thread_count, thread_count_expected()),
       "that compute, on a CPU; \"auto\": one for every core that it may use"},
      Key{"background", &worker.background, Limits::any(),
          "computes on what others leave of the machine, and pauses while they need it"}
          .formerly("polite"),
      {"precision", &worker.precision, Limits::one_of(precision_names()),
       "of the factors of products: bf16 where the processor has it, and float32 elsewhere; tf32 on GPUs "
       "only"},
  };
}

}  // namespace steelyard
