// One section of a scenario file, key by key. Whatever is asked for is known; finish() refuses the rest by
// name, with the nearest key that there is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace steelyard {

class JobSource;

class ScenarioSection {
 public:
  // The source must outlive the section. A section that is not there has no keys; `part` is that of a section
  // like [policy.lbb].
  static ScenarioSection of(const JobSource& source, const std::string& name, const std::string& part = "");
  static std::vector<ScenarioSection> all_of(const JobSource& source, const std::string& name);  // [[name]]

  // Each leaves `into` as it is if the key is not there, and says whether it is. Throws Failure
  // (configuration) for a value of another kind or out of range.
  bool number(const char* key, double& into, double least, double most);
  bool whole(const char* key, std::uint64_t& into, double least, double most);
  bool text(const char* key, std::string& into, const std::vector<std::string>& choices = {});
  bool flag(const char* key, bool& into);
  bool numbers(const char* key, std::vector<double>& into);
  // All keys, as options of somebody who knows which there are: plain values, as texts.
  [[nodiscard]] std::map<std::string, std::string> options() const;

  [[nodiscard]] bool given(const char* key) const;
  // A rule that joins keys is broken: `key`, or where it is not given the section, is where to look.
  void demand(bool holds, const char* key, const std::string& what) const;
  void finish() const;

 private:
  struct Table;  // as the file has it; no header but one knows how
  ScenarioSection(const JobSource& source, std::string title, const Table& table);
  const Table& look_for(const char* key);
  [[noreturn]] void refuse(const char* key, const std::string& what) const;

  const JobSource* source_;
  std::string title_;
  std::shared_ptr<const Table> table_;
  std::vector<std::string> known_;
};

}  // namespace steelyard
