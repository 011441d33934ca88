// Every file with logic has a test of its name, and every link in the documentation has a target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::mirror_test {
namespace {

using ::testing::IsEmpty;

// Files without a test of their name: where they are tested, and why there.
const std::map<std::string, std::string> tested_elsewhere{
    {"app/cli/command_line.cpp", "tests/app/cli/process_input_test.cpp: what people type"},
    {"app/cli/commands.cpp", "tests/app/cli/process_input_test.cpp: what people type"},
    {"app/cli/commands_of_models.cpp", "tests/app/cli/process_input_test.cpp: what people type"},
    {"app/cli/commands_of_runs.cpp", "tests/app/cli/process_input_test.cpp: what people type"},
    {"app/cli/commands_of_tools.cpp", "tests/app/cli/process_input_test.cpp: what people type"},
    {"app/cli/main.cpp", "none: one line, calls run()"},
    {"app/cli/run.cpp", "tests/app/cli/process_input_test.cpp: exit codes"},
    {"app/config/job_keys.cpp", "tests/app/config/schema_test.cpp: all tables in one harness"},
    {"app/config/job_source.cpp", "tests/app/cli/process_input_test.cpp: --set and the files"},
    {"app/config/scenario_keys.cpp", "tests/app/config/schema_test.cpp: all tables in one harness"},
    {"app/config/toml_section.cpp", "tests/app/config/scenario_file_test.cpp: keys, ranges and refusals"},
    {"app/export/onnx.cpp", "tests/bindings/python/test_pypi_export.py: onnxruntime runs every model"},
    {"app/export/torch_lines.cpp", "tests/app/export/torch_source_test.cpp: the lines of the file"},
    {"app/launch/local_cluster.cpp", "tests/app/launch/launch_test.cpp: whole processes"},
    {"app/processes/run_setup.cpp", "tests/app/cli/process_restart_test.cpp: whole processes"},
    {"app/processes/scheduler_process.cpp", "tests/app/cli/process_roles_test.cpp: whole processes"},
    {"app/processes/server_process.cpp", "tests/app/cli/process_roles_test.cpp: whole processes"},
    {"app/processes/signals.cpp", "tests/app/cli/process_roles_test.cpp: whole processes"},
    {"app/processes/standby_process.cpp", "tests/app/cli/process_standby_test.cpp: whole processes"},
    {"app/processes/worker_device.cpp", "tests/app/cli/process_devices_test.cpp: through the binary"},
    {"app/processes/worker_process.cpp", "tests/app/cli/process_roles_test.cpp: whole processes"},
    {"app/processes/worker_session.cpp", "tests/app/cli/process_roles_test.cpp: whole processes"},
    {"app/render/member_command.cpp", "tests/app/render/kubernetes_test.cpp: the arguments of pods"},
    {"app/render/rendered_job.cpp", "tests/app/render/kubernetes_test.cpp: sums that members get"},
    {"app/report/compare/comparison.cpp", "tests/app/report/compare/compared_runs_test.cpp: labels"},
    {"app/report/output_file.cpp",
     "tests/app/tools/simulate_command_test.cpp: --json to files, nowhere and standard output"},
    {"app/report/run/finding_text.cpp", "tests/app/report/run/run_page_test.cpp: the sentences of the page"},
    {"app/report/run/run_charts.cpp", "tests/app/report/run/run_page_test.cpp: the charts of the page"},
    {"app/report/run/status_json.cpp", "tests/app/report/live/live_run_test.cpp: the status of a job"},
    {"app/report/run_totals.cpp", "tests/app/report/recorder_test.cpp: the summary at the end"},
    {"app/tools/devices_command.cpp", "tests/app/cli/process_devices_test.cpp: through the binary"},
    {"app/tools/export_command.cpp", "tests/app/tools/process_export_test.cpp: through the binary"},
    {"app/tools/inspect_command.cpp", "tests/app/cli/process_checkpoint_test.cpp: through the binary"},
    {"app/tools/keys_command.cpp", "tests/app/cli/process_trust_test.cpp: through the binary"},
    {"app/tools/plan_command.cpp", "tests/app/tools/process_plan_test.cpp: through the binary"},
    {"app/tools/eval_command.cpp", "tests/app/tools/process_predict_test.cpp: through the binary"},
    {"app/tools/input_pictures.cpp", "tests/app/tools/process_pictures_test.cpp: through the binary"},
    {"app/tools/predict_command.cpp", "tests/app/tools/process_predict_test.cpp: through the binary"},
    {"app/tools/scoring.cpp", "tests/app/tools/process_predict_test.cpp: through the binary"},
    {"app/tools/run_life.cpp", "tests/app/cli/process_standby_test.cpp: through the binary"},
    {"app/tools/trace_command.cpp", "tests/app/report/timeline_test.cpp: the timeline that it writes"},
    {"app/tools/saved_model.cpp", "tests/app/cli/process_checkpoint_test.cpp: through the binary"},
    {"app/tools/status_command.cpp", "tests/app/cli/process_report_test.cpp: through the binary"},
    {"transport/zmq_receive.cpp",
     "tests/transport/link_test.cpp: what links receive; zmq_test.cpp beside it"},
    {"balancing/cost/curves.cpp", "tests/balancing/cost/affine_test.cpp: and its neighbours, a curve each"},
    {"balancing/predict/averages.cpp", "tests/balancing/predict/ema_test.cpp: and last_test.cpp beside it"},
    {"app/tools/target_eval.cpp", "tests/app/tools/process_targets_test.cpp: the metrics of trained models"},
    {"bindings/c/c_error.cpp", "tests/bindings/c/c_policy_test.cpp: errors of C functions"},
    {"core/error.cpp", "tests/core/near_match_test.cpp: the names that an error proposes"},
    {"nn/cpu/by_sample.cpp", "tests/nn/ops/stored_ops_test.cpp: ops of every kind"},
    {"nn/cpu/channel_moves.cpp", "tests/nn/ops/every_op_test.cpp: one table for all ops"},
    {"nn/cpu/columns.cpp", "tests/nn/ops/batch_norm_test.cpp: sums of few and of many channels"},
    {"nn/cpu/conv2d_onednn.cpp", "tests/nn/ops/conv2d_test.cpp: one harness for all convolutions"},
    {"nn/cpu/elementwise.cpp", "tests/nn/ops/activation_test.cpp: and add, scale and dropout, each its own"},
    {"nn/cpu/kernel_calls.cpp", "tests/nn/network_test.cpp: kernels that several ops call"},
    {"nn/cpu/no_onednn.cpp", "none: only builds for script/gpu-check contain it; their program checks it"},
    {"nn/cpu/norms.cpp", "tests/nn/ops/batch_norm_test.cpp: and group and layer norm, each its own"},
    {"nn/cpu/onednn.cpp", "tests/nn/network_test.cpp: reads the names of the implementations chosen"},
    {"nn/cpu/pools.cpp", "tests/nn/ops/max_pool_test.cpp: and the averages, each its own"},
    {"nn/cpu/token_linear_onednn.cpp", "tests/nn/ops/stored_ops_test.cpp: one harness for all ops"},
    {"nn/cpu/token_moves.cpp", "tests/nn/ops/every_op_test.cpp: one table for all ops"},
    {"nn/cuda/channel_moves.cu", "tests/nn/cuda/every_op_on_cuda_test.cpp: one table for all ops"},
    {"nn/cuda/device/cudnn_handle.cpp",
     "tests/nn/cuda/conv2d_test.cpp: on a device, all ops of cuDNN use it"},
    {"nn/cuda/device/device_attention.cpp",
     "tests/nn/cuda/attention_test.cpp: the same test on each kind of device"},
    {"nn/cuda/device/device_conv2d.cpp",
     "tests/nn/cuda/conv2d_test.cpp: the same test on each kind of device"},
    {"nn/cuda/device/device_named_memory.cpp",
     "tests/nn/cuda/lendable_memory_test.cpp: the same test on each kind of device"},
    {"nn/cuda/device/device_products.cpp",
     "tests/nn/cuda/products_test.cpp: the same test on each kind of device"},
    {"nn/cuda/device/device_runtime.cpp",
     "tests/nn/cuda/cuda_network_test.cpp: networks use all its functions"},
    {"nn/cuda/device/no_cudnn_frontend.cpp", "none: reports that a build has no library"},
    {"nn/cuda/direct_conv2d.cu", "tests/nn/cuda/conv2d_test.cpp: the convolution of the host executor"},
    {"nn/cuda/host/fiber.cpp", "tests/nn/cuda/host/executor_test.cpp: each thread of a kernel is a fiber"},
    {"nn/cuda/host/host_attention.cpp", "none: reports that the executor has no library"},
    {"nn/cuda/host/host_memory.cpp",
     "tests/nn/cuda/host/runtime_test.cpp: memory, copies and streams of the executor"},
    {"nn/cuda/host/host_named_memory.cpp",
     "tests/nn/cuda/host/peer_values_test.cpp: another process opens it"},
    {"nn/cuda/host/host_runtime.cpp",
     "tests/nn/cuda/host/runtime_test.cpp: memory, copies and streams of the executor"},
    {"nn/cuda/none/none.cpp", "none: reports that no device exists"},
    {"nn/cuda/peer_values.cpp", "tests/nn/cuda/host/peer_values_test.cpp: between two processes"},
    {"nn/cuda/runtime.cpp", "tests/nn/cuda/host/runtime_test.cpp: the part common to all devices"},
    {"nn/cuda/staging.cpp", "tests/nn/cuda/cuda_network_test.cpp: passes every micro-batch through it"},
    {"nn/cuda/token_moves.cu", "tests/nn/cuda/every_op_on_cuda_test.cpp: one table for all ops"},
    {"nn/models/inception.cpp", "tests/nn/models_test.cpp: published sizes"},
    {"nn/models/resnet.cpp", "tests/nn/models_test.cpp: published sizes"},
    {"nn/models/small_models.cpp", "tests/nn/models_test.cpp: published sizes"},
    {"nn/models/transformer_models.cpp", "tests/nn/models_test.cpp: published sizes"},
    {"nn/models/convolutional_models.cpp", "tests/nn/models_test.cpp: published sizes"},
    {"nn/network_plan.cpp", "tests/nn/network_test.cpp: through the networks that it builds"},
    {"nn/ops.cpp", "tests/nn/model_test.cpp: shapes, parameters and errors, through models"},
    {"nn/optimizer/rule.cpp", "tests/nn/optimizer_test.cpp: the update rules"},
    {"nn/plan_memory.cpp", "tests/nn/network_test.cpp: overlapping buffers would give wrong gradients"},
    {"nn/reference/channel_moves.cpp", "tests/nn/ops/every_op_test.cpp: one table for all ops"},
    {"nn/reference/elementwise.cpp",
     "tests/nn/ops/activation_test.cpp: and add, scale and dropout, each its own"},
    {"nn/reference/norms.cpp", "tests/nn/ops/batch_norm_test.cpp: and group and layer norm, each its own"},
    {"nn/reference/pools.cpp", "tests/nn/ops/max_pool_test.cpp: and the averages, each its own"},
    {"nn/reference/token_moves.cpp", "tests/nn/ops/every_op_test.cpp: one table for all ops"},
    {"nn/step_calls.cpp", "tests/nn/network_test.cpp: each step of each network is called through it"},
    {"protocol/sync_limits.cpp", "tests/app/config/job_codes_test.cpp: allowed options of each mode"},
    {"protocol/protocol_version.cpp", "tests/app/cli/process_version_test.cpp: two releases connect"},
    {"scheduler/rounds/refused_pieces.cpp",
     "tests/scheduler/rounds/assignments_test.cpp: the class that it is a part of"},
    {"sim/invariants_watch.cpp", "tests/hosts/host_world_test.cpp: it checks every step there"},
    {"transport/local.cpp", "tests/transport/link_test.cpp: one body for every kind of link"},
    {"transport/zmq_context.cpp", "tests/transport/security/keyed_link_test.cpp: links with keys"},
    {"transport/security/curve.cpp", "tests/transport/security/keyed_link_test.cpp: links with keys"},
    {"transport/zmq_socket.cpp", "tests/transport/security/keyed_link_test.cpp: links with keys"},
    {"worker/compute/same_model.cpp", "tests/worker/compute/workload_test.cpp: differences are reported"},
    {"worker/compute/engines.cpp", "tests/worker/compute/workload_test.cpp: the engine of each device"},
    {"worker/data/samples.cpp", "tests/worker/compute/feed_test.cpp: labels and failures with their place"},
};

// "nn/cpu/direct.cpp" is mirrored by tests/nn/cpu/direct_test.cpp or, if the folder is small, by
// tests/nn/direct_test.cpp. Each op has one test in tests/nn/ops for both CPU backends. All sync modes share
// one test, which checks the file of each.
bool has_mirror(const SourceFile& file, const std::set<std::string>& tests) {
  const std::string name = std::filesystem::path(file.path).stem().string();
  const std::string folder = std::filesystem::path(file.path).parent_path().generic_string();
  const std::string above = std::filesystem::path(folder).parent_path().generic_string();
  return tests.contains("tests/" + folder + '/' + name + "_test.cpp") ||
         tests.contains("tests/" + above + '/' + name + "_test.cpp") ||
         tests.contains("tests/" + file.folder() + '/' + name + "_test.cpp") ||
         (file.under("protocol/modes") && tests.contains("tests/protocol/sync_mode_test.cpp")) ||
         (file.under("nn") && !file.ends_with(".cu") && tests.contains("tests/nn/ops/" + name + "_test.cpp"));
}

TEST(Mirror, EveryFileWithLogicHasItsTest) {
  std::set<std::string> all, tests;
  for (const SourceFile& file : source_tree()) {
    all.insert(file.path);
    if (file.ends_with("_test.cpp")) tests.insert(file.path);
  }
  std::vector<std::string> findings;
  std::set<std::string> excused;
  for (const SourceFile& file : source_tree()) {
    const bool has_logic = file.ends_with(".cpp") || file.ends_with(".cu");
    if (!is_product(file) || !has_logic || file.ends_with(".kernel.cpp")) continue;
    const bool listed_here = tested_elsewhere.contains(file.path);
    if (listed_here) excused.insert(file.path);
    if (has_mirror(file, tests)) {
      if (listed_here) findings.push_back(file.path + ": has its own test now; remove it from the list");
    } else if (!listed_here) {
      findings.push_back(file.path + ": has no test of its name");
    }
  }
  for (const auto& [path, why] : tested_elsewhere) {
    if (!excused.contains(path)) findings.push_back(path + ": is on the list but does not exist");
    // A reason starts with the file that tests it, or with "none: ".
    const std::string place = why.substr(0, why.find(':'));
    if (place != "none" && !all.contains(place)) findings.push_back(path + ": " + place + " does not exist");
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

// The anchor of a heading: lower case, with dashes for blanks and without other punctuation.
std::string anchor_of(const std::string& heading) {
  std::string text;
  for (const char c : heading.substr(heading.find_first_not_of("# "))) {
    const auto code = static_cast<unsigned char>(c);
    if (c == ' ' || c == '-') text += '-';
    if (std::isalnum(code) != 0 || c == '_') text += static_cast<char>(std::tolower(code));
  }
  return text;
}

bool has_anchor(const SourceFile& file, const std::string& anchor) {
  return std::ranges::any_of(file.lines, [&](const std::string& line) {
    return line.starts_with('#') && line.find_first_not_of("# ") != std::string::npos &&
           anchor_of(line) == anchor;
  });
}

// Links of the form [text](path#part); links with a scheme are not checked.
TEST(Links, EveryLinkHasATarget) {
  namespace fs = std::filesystem;
  const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<std::string> findings;
  for (const SourceFile& file : source_tree()) {
    if (!file.ends_with(".md")) continue;
    const fs::path here = fs::path(STEELYARD_SOURCE) / fs::path(file.path).parent_path();
    bool fenced = false;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].starts_with("```")) fenced = !fenced;
      if (fenced) continue;
      for (std::sregex_iterator it(file.lines[i].begin(), file.lines[i].end(), link), end; it != end; ++it) {
        const std::string whole = (*it)[1];
        const std::string target = whole.substr(0, whole.find('#'));
        const bool to_a_part = target.size() < whole.size();
        const std::string part = to_a_part ? whole.substr(target.size() + 1) : "";
        if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
        const fs::path there = target.empty() ? fs::path(STEELYARD_SOURCE) / file.path : here / target;
        const auto source = std::ranges::find_if(source_tree(), [&](const SourceFile& some) {
          return fs::path(STEELYARD_SOURCE) / some.path == there.lexically_normal();
        });
        if (!fs::exists(there)) {
          findings.push_back(file.path + ':' + std::to_string(i + 1) + ": " + target + " does not exist");
        } else if (to_a_part && (source == source_tree().end() || !has_anchor(*source, part))) {
          findings.push_back(file.path + ':' + std::to_string(i + 1) + ": " + whole +
                             " names no heading of that file");
        }
      }
    }
  }
  EXPECT_THAT(findings, IsEmpty()) << listed(findings);
}

}  // namespace
}  // namespace steelyard::test::mirror_test
