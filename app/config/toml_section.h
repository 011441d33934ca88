// One section of a file, read by the schema of the file. What no schema can say, rules that join keys, its
// reader asks of it afterwards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/schema.h"
#include "core/text.h"  // number_text

namespace steelyard {

class JobSource;

// Source and schema must outlive it.
class TomlSection {
 public:
  // Refuses sections that the schema does not have, with the nearest that there is, and what is none. Throws
  // Failure (configuration), as all here do.
  static void check_all(const JobSource& source, const Schema& schema);

  // One that is not there has no keys.
  static TomlSection of(const JobSource& source, const Schema& schema, const std::string& name);
  // Each [[name]], or each [name.PART].
  static std::vector<TomlSection> all_of(const JobSource& source, const Schema& schema,
                                         const std::string& name);
  // Each [[host.worker]] of this [[host]].
  [[nodiscard]] std::vector<TomlSection> all_below(const std::string& name) const;

  // Fills the draft. Refuses keys that the schema does not have, with the nearest that there is, and values
  // of another kind or out of range.
  void read() const;

  [[nodiscard]] const std::string& part() const;  // "lbb" of [policy.lbb]; of a [[worker]] its name
  [[nodiscard]] bool given(const std::string& key) const;
  // A rule that joins keys is broken: `key` is where to look, or where it is not given the section.
  void demand(bool holds, const std::string& key, const std::string& what) const;
  // The same for what a model, a data set or a policy says of its options; `key` is where its name stands.
  void demand_none(const std::optional<OptionTrouble>& trouble, const std::string& key) const;
  // The same for trouble in words; empty: there is none.
  void demand_none(const std::string& trouble, const std::string& key) const;

 private:
  struct Text;  // as the file has it; no header but one knows how
  explicit TomlSection(Text text);

  std::shared_ptr<const Text> text_;
};

}  // namespace steelyard
