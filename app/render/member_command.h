// The command line of `steelyard member` in a pod.
#pragma once

#include <string>
#include <vector>

#include "app/render/rendered_job.h"

namespace steelyard {

struct MemberPlaces {
  std::string job;   // job file or script
  std::string meet;  // host:port of the scheduler
  std::string keys;  // folder
  std::string run;   // run directory
  std::string rank;  // the number of the pod, or the variable that has it
};

std::vector<std::string> member_arguments(const RenderedJob& job, const HostSpec& host,
                                          const MemberPlaces& places);

}  // namespace steelyard
