// Which part of the source tree may include which: the layering of the design as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::include_test {
namespace {

using ::testing::IsEmpty;

// The parts of the source tree, more specific places first: a file belongs to the first part that contains
// it. A folder may always include itself.
struct Part {
  std::string place;
  std::set<std::string> may;  // other parts that it may include
};
const std::vector<Part> house{
    {"include/steelyard", {}},  // public headers: they include no other part; all others may include them
    {"core", {}},
    {"nn/optimizer", {"core"}},
    {"nn", {"core", "nn/optimizer"}},
    {"balancing", {"core"}},
    {"transport", {"core", "protocol"}},
    {"protocol", {"core", "nn/optimizer"}},  // a job contains its optimizer
    {"server", {"core", "protocol", "nn/optimizer"}},
    {"scheduler",
     {"core", "protocol", "balancing", "nn/optimizer/schedule.h"}},  // the learning rate, for records
    {"worker/compute", {"core", "protocol", "nn", "nn/optimizer", "worker/data"}},
    {"worker/data", {"core"}},
    {"worker", {"core", "protocol"}},
    {"sim/training", {"core", "protocol", "sim", "worker/compute", "worker/data"}},
    {"sim", {"core", "protocol", "balancing", "scheduler", "server", "worker"}},
    {"app/config",
     {"core", "nn", "balancing", "protocol", "transport/address.h", "transport/zmq.h", "worker/compute",
      "worker/data", "sim", "sim/training"}},
    {"app/export", {"core", "nn"}},
    {"app/report", {"core", "nn", "balancing", "protocol", "server", "app/config"}},
    {"app/web", {"core", "protocol", "transport/address.h", "app/config", "app/report"}},
    {"app/processes",
     {"core", "balancing", "protocol", "transport", "server", "scheduler", "worker", "worker/compute",
      "worker/data", "app/config", "app/report", "app/web"}},
    {"app/launch",
     {"core", "protocol", "transport", "worker/compute", "app/config", "app/report", "app/web",
      "app/processes"}},
    {"app/hosts",
     {"core", "nn", "protocol", "transport", "server", "worker/compute", "app/config", "app/report",
      "app/processes", "app/launch"}},
    {"app/member",
     {"core", "protocol", "transport", "app/config", "app/report", "app/processes", "app/launch"}},
    {"app/tools",
     {"core", "nn", "balancing", "protocol", "transport", "server", "worker/compute", "worker/data", "sim",
      "app/config", "app/export", "app/report", "app/web", "app/processes", "app/launch"}},
    {"app/render", {"core", "app/config", "app/report", "app/launch"}},
    {"app/cli",
     {"core", "nn", "balancing", "protocol", "sim", "app/config", "app/report", "app/processes", "app/launch",
      "app/hosts", "app/member", "app/tools", "app/render", "worker/data/data_sets.h"}},
    {"bindings",
     {"core", "balancing", "protocol", "worker/compute", "worker/data", "app/config", "app/processes"}},
};

// Libraries that are slow to compile or that only one place may use. Only `places` may include them; with
// `in_cpp_only` not in headers, except for the headers listed.
struct Library {
  std::string header;  // a regular expression that matches the included path
  std::vector<std::string> places;
  bool in_cpp_only;
  std::vector<std::string> internal_headers;
};
const std::vector<Library> libraries{
    {"^zmq.*",
     {"transport"},
     true,
     {"transport/zmq_socket.h", "transport/dealer.h", "transport/zmq_state.h", "transport/security/curve.h",
      "transport/security/peer_table.h", "transport/connections.h"}},
    {"^CLI/.*",
     {"app/cli/command_line.cpp", "app/cli/commands.cpp", "app/cli/commands_of_models.cpp",
      "app/cli/commands_of_runs.cpp", "app/cli/commands_of_tools.cpp", "app/cli/completion.cpp",
      "app/launch/process_options.cpp"},
     true,
     {}},
    {"^Eigen/.*", {"balancing", "nn"}, true, {}},
    {"^toml\\+\\+/.*", {"app/config"}, true, {"app/config/job_source.h"}},
    {"^nlohmann/.*",
     {"core/json.h", "server/checkpoint/safetensors.cpp"},  // reads a checkpoint's header while parsing it
     false,
     {}},
    {"^(dnnl|oneapi/dnnl).*", {"nn"}, true, {"nn/cpu/onednn_versions.h"}},
    {"^(tbb|oneapi/tbb)/.*", {"core/parallel.cpp"}, true, {}},
    {"^cereal/.*", {"protocol"}, false, {}},
    {"^(zlib|zconf)\\.h$", {"worker/data", "app/export/torch_state.cpp"}, true, {}},
    {"^zip\\.h$", {"worker/data/zip.cpp"}, true, {}},
    {"^png\\.h$", {"worker/data/pictures/png_picture.cpp"}, true, {}},
    {"^(jpeglib|jerror)\\.h$", {"worker/data/pictures/jpeg_picture.cpp"}, true, {}},
    {"^omp\\.h$", {"nn/cpu"}, true, {}},
    {"^cuda.*|^cublas.*|^cudnn.*", {"nn/cuda"}, false, {}},
    {"^httplib\\.h$", {"app/web/http_server.cpp"}, true, {}},
    {"^(sys/socket|netdb|arpa/inet)\\.h$", {"app", "transport"}, true, {}},
};

struct Include {
  std::string what;
  bool quoted;
  std::size_t line;
};
std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> all;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(file.lines[i], match, pattern)) all.push_back({match[2], match[1] == "\"", i + 1});
  }
  return all;
}

const Part* part_of(const std::string& path) {
  const auto found =
      std::ranges::find_if(house, [&](const Part& part) { return path.starts_with(part.place + '/'); });
  return found == house.end() ? nullptr : &*found;
}

bool may_include(const Part& part, const std::string& what) {
  const Part* target = part_of(what);
  return target != nullptr &&
         (target == &part || part.may.contains(target->place) || part.may.contains(what));
}

TEST(Includes, FollowTheTable) {
  std::vector<std::string> findings;
  std::size_t checked = 0;
  for (const SourceFile& file : source_tree()) {
    if (!is_product(file)) continue;
    const Part* part = part_of(file.path);
    ASSERT_NE(part, nullptr) << file.path;
    for (const Include& it : includes_of(file)) {
      if (!it.quoted) continue;
      ++checked;
      if (!may_include(*part, it.what)) {
        findings.push_back(file.path + ':' + std::to_string(it.line) + ": " + part->place +
                           " must not include \"" + it.what + '"');
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
  EXPECT_GT(checked, 200U) << "the tree was not found";
}

TEST(Includes, LibrariesAreIncludedInTheirPlacesOnly) {
  std::vector<std::string> findings;
  std::map<std::string, int> used;
  for (const SourceFile& file : source_tree()) {
    if (!is_product(file)) continue;
    for (const Include& it : includes_of(file)) {
      for (const Library& library : libraries) {
        if (it.quoted || !std::regex_match(it.what, std::regex(library.header))) continue;
        ++used[library.header];
        const bool at_home =
            std::ranges::any_of(library.places, [&](const auto& place) { return file.under(place); });
        const bool header = file.ends_with(".h");
        const bool named =
            std::ranges::find(library.internal_headers, file.path) != library.internal_headers.end();
        if (!at_home || (header && library.in_cpp_only && !named)) {
          findings.push_back(file.path + ':' + std::to_string(it.line) + ": <" + it.what +
                             "> is not allowed here");
        }
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
  EXPECT_GE(used.size(), 8U) << "expected libraries were not found";
}

// An internal header that includes a heavy library may be included only by .cpp files of its own folder and
// by other internal headers.
TEST(Includes, InternalHeadersStayInTheirFolders) {
  std::vector<std::string> findings;
  for (const Library& library : libraries) {
    for (const std::string& header : library.internal_headers) {
      const std::string home = header.substr(0, header.find('/'));
      for (const SourceFile& file : source_tree()) {
        if (!is_product(file) ||
            std::ranges::find(library.internal_headers, file.path) != library.internal_headers.end())
          continue;
        for (const Include& it : includes_of(file)) {
          if (it.what != header) continue;
          if (file.ends_with(".h") || (file.folder() != home && !file.under("worker/compute"))) {
            findings.push_back(file.path + ':' + std::to_string(it.line) + ": \"" + header +
                               "\" is internal");
          }
        }
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

TEST(Includes, HeadersHaveGuardsAndIncludesStartAtTheRoot) {
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    if (!is_code(file) || file.folder() == "examples" || file.under("tests/package")) continue;
    if (file.ends_with(".h") && std::ranges::find(file.lines, "#pragma once") == file.lines.end()) {
      findings.push_back(file.path + ": no #pragma once");
    }
    for (const Include& it : includes_of(file)) {
      if (it.quoted && (it.what.starts_with(".") || it.what.find('/') == std::string::npos)) {
        findings.push_back(file.path + ':' + std::to_string(it.line) + ": \"" + it.what +
                           "\" does not start at the root");
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// Public headers include only the standard library and each other, so that a package needs no other header.
TEST(Includes, PublicHeadersAreSelfContained) {
  std::vector<std::string> findings;
  std::size_t promised = 0;
  for (const SourceFile& file : source_tree()) {
    if (!file.under("include/steelyard")) continue;
    ++promised;
    for (const Include& it : includes_of(file)) {
      const bool standard =
          it.what.find_first_of("/.") == std::string::npos || it.what == "stdint.h" || it.what == "stddef.h";
      if (it.quoted || (!standard && !it.what.starts_with("steelyard/")))
        findings.push_back(file.path + ':' + std::to_string(it.line) + ": \"" + it.what +
                           "\" is not a public header");
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
  EXPECT_GT(promised, 10U);
}

TEST(Includes, TheTableAllowsAndForbids) {
  const Part* server = part_of("server/shard/shard.h");
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(may_include(*server, "protocol/machine.h"));
  EXPECT_TRUE(may_include(*server, "nn/optimizer/rule.h"));
  EXPECT_FALSE(may_include(*server, "nn/network.h")) << "servers must not depend on layers";
  EXPECT_FALSE(may_include(*server, "transport/zmq.h"));
  EXPECT_FALSE(may_include(*server, "tests/support/test_world.h"));
  EXPECT_FALSE(may_include(*part_of("balancing/policies.h"), "protocol/messages.h"));
}

}  // namespace
}  // namespace steelyard::test::include_test
