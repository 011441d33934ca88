// What a hosts file can say.
#pragma once

#include "app/config/hosts_file.h"
#include "app/config/schema.h"

namespace steelyard {

// A hosts file on its way into settings.
struct HostsDraft {
  HostSpec host;      // the [[host]] at hand
  HostWorker worker;  // the [[host.worker]] at hand
  OptionTexts data;   // of that worker
};

Schema schema_of(HostsDraft& draft);

}  // namespace steelyard
