// Writes YAML: a value of JSON in YAML's block style, which people read and edit more easily than JSON.
//
// Only what a rendered file needs: no anchors, no tags, no comments inside. Text that another reader could
// take for a number, a truth value or a date is quoted, and so is all that is not plain (rules of YAML 1.1
// and 1.2 together, since kubectl reads the former).
#pragma once

#include <string>

#include "core/json.h"

namespace steelyard {

// A document: whole lines, without the "---" between documents.
std::string yaml_text(const Json& document);

}  // namespace steelyard
