// Checks the Prometheus text exposition format and its naming conventions.
#pragma once

#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace steelyard {

// The problems of a text, one per line; empty if it is valid. Families have HELP and TYPE before their
// samples, samples are unique, counters end in _total, units are seconds, and histogram buckets rise to the
// count.
inline std::string exposition_troubles(const std::string& text) {
  static const std::regex help(R"(# HELP (steelyard_[a-z0-9_]+) \S.*)"),
      type(R"(# TYPE (steelyard_[a-z0-9_]+) (counter|gauge|histogram))"),
      sample(R"re((steelyard_[a-z0-9_]+)(\{[a-z_]+="([^"\\]|\\["\\n])*")re"
             R"re((,[a-z_]+="([^"\\]|\\["\\n])*")*\})? (\S+))re"),
      unit("_(ms|milliseconds|minutes|percent|kb|mb)(_|$)");
  std::string troubles, family, kind;
  std::set<std::string> helped, sampled, with_samples;
  std::map<std::string, std::string> types;
  double last_bucket = 0;
  const auto trouble = [&](const std::string& line, const std::string& what) {
    troubles += what + ": " + line + "\n";
  };
  if (!text.ends_with('\n')) trouble("the end", "no newline at the end");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, help)) {
      if (!helped.insert(found[1]).second) trouble(line, "appears twice");
    } else if (std::regex_match(line, found, type)) {
      family = found[1];
      kind = found[2];
      if (!helped.contains(family)) trouble(line, "no HELP before");
      if (!types.try_emplace(family, kind).second) trouble(line, "appears twice");
      if ((kind == "counter") != family.ends_with("_total"))
        trouble(line, "counters, and only they, end in _total");
      if (std::regex_search(family, unit)) trouble(line, "no base unit");
      last_bucket = 0;
    } else if (std::regex_match(line, found, sample)) {
      const std::string name = found[1], labels = found[2], value = found[6];
      const bool part = kind == "histogram" &&
                        (name == family + "_bucket" || name == family + "_sum" || name == family + "_count");
      if (name != family && !part) trouble(line, "not of the family above");
      if (kind == "histogram" && !part) trouble(line, "not a part of a histogram");
      if (!sampled.insert(name + labels).second) trouble(line, "appears twice");
      with_samples.insert(family);
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      if (*end != '\0') trouble(line, "not a number");
      if (part && name.ends_with("_bucket") && number < last_bucket) trouble(line, "buckets must not fall");
      if (part && name.ends_with("_bucket")) last_bucket = number;
      if (part && name.ends_with("_count") && number != last_bucket)
        trouble(line, "differs from the last bucket");
      if (part && name.ends_with("_count")) last_bucket = 0;  // the family may have another histogram
    } else {
      trouble(line, "not understood");
    }
  }
  for (const auto& [name, ignored] : types)
    if (!with_samples.contains(name)) trouble(name, "no samples");
  return troubles;
}

}  // namespace steelyard
