// Hosts as text, and fewer of them.
#include <algorithm>

#include "app/config/hosts_file.h"
#include "app/config/toml_section.h"

namespace steelyard {
namespace {

// The keys whose values are not those of `plain`, a section of a draft that nothing was read into.
std::string changed_lines(const Section& section, const Section& plain) {
  std::string text;
  for (std::size_t i = 0; i < section.keys.size(); ++i) {
    const std::string value = value_text(section.keys[i]);
    if (value != value_text(plain.keys[i])) text += section.keys[i].name + " = " + value + "\n";
  }
  return text;
}

std::string data_line(const std::vector<std::string>& options) {
  std::string list;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    list += (list.empty() ? " " : ", ") + option.substr(0, equals) + " = " +
            option_text(option.substr(equals + 1));
  }
  return list.empty() ? "" : "data = {" + list + " }\n";
}

}  // namespace

std::string hosts_text(const HostsFile& hosts) {
  HostsDraft draft, plain;
  const Schema schema = schema_of(draft), defaults = schema_of(plain);
  std::string text;
  for (const HostSpec& host : hosts.hosts) {
    draft.host = host;
    text += "[[host]]\n" + changed_lines(schema.at("host"), defaults.at("host"));
    for (const HostWorker& worker : host.workers) {
      draft.worker = worker;
      text += "[[host.worker]]\n" + changed_lines(schema.at("host.worker"), defaults.at("host.worker")) +
              data_line(worker.data_options);
    }
    text += "\n";
  }
  return text;
}

HostsFile with_workers(HostsFile hosts, const std::vector<std::string>& names) {
  for (HostSpec& host : hosts.hosts)
    std::erase_if(host.workers, [&](const HostWorker& worker) {
      return std::ranges::find(names, worker.spec.name) == names.end();
    });
  std::erase_if(hosts.hosts, [](const HostSpec& host) {
    return !host.scheduler && host.servers == 0 && host.workers.empty();
  });
  return hosts;
}

}  // namespace steelyard
