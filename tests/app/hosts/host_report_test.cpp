#include "app/hosts/host_report.h"

#include <gmock/gmock.h>

namespace steelyard::host_report_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

HostFacts healthy(const std::string& name) {
  HostFacts host;
  host.name = name;
  host.way = "ssh ann@" + name;
  host.answered = true;
  host.release = "steelyard 0.1.0, protocol 18, journal 2";
  host.cores = 8;
  host.memory_free = 8'000'000'000, host.memory_needed = 1'000'000'000;
  host.disk_free = 50'000'000'000;
  host.directory = "/data";
  return host;
}

HostsReport two_hosts() {
  HostsReport report;
  report.with_job = true;
  report.hosts = {healthy("one"), healthy("two")};
  report.hosts[0].ports = report.hosts[1].data = true;
  LineFacts line;
  line.from = "two", line.to = "one", line.endpoint = "10.0.0.1:7070";
  line.round_trip_s = 0.00021, line.there_bytes_s = 117.5e6, line.back_bytes_s = 58.75e6;
  report.lines = {line};
  return report;
}

std::vector<std::string> texts_of(const HostsReport& report) {
  std::vector<std::string> all;
  for (const Problem& it : report.problems()) all.push_back(it.text);
  return all;
}

TEST(HostReport, ATableShowsHostsAndLines) {
  HostsReport report = two_hosts();
  report.judge();
  EXPECT_THAT(texts_of(report), IsEmpty());
  EXPECT_EQ(report.code(), ExitCode::ok);
  EXPECT_EQ(table_of(report),
            "host  reached by   release  ports  data  memory free (need)  disk free (need)  clock  devices\n"
            "one   ssh ann@one  0.1.0    ok     -     8.0 GB (1.0 GB)     50.0 GB           ok     8 cores\n"
            "two   ssh ann@two  0.1.0    -      ok    8.0 GB (1.0 GB)     50.0 GB           ok     8 cores\n"
            "\n"
            "from  to   connects to    round trip  speed there  speed back\n"
            "two   one  10.0.0.1:7070  0.21 ms     940 Mbit/s   470 Mbit/s\n");
}

TEST(HostReport, ProblemsOfAllHostsNameThingPlaceAndRemedy) {
  HostsReport report = two_hosts();
  report.hosts[0].memory_free = 500'000'000;
  report.hosts[1].disk_needed = 60'000'000'000;
  report.lines[0].problem = Problem{ExitCode::unreachable, "no way"};
  report.judge();
  EXPECT_THAT(texts_of(report),
              ElementsAre(AllOf(HasSubstr("host 'one'"), HasSubstr("at least 1.0 GB"), HasSubstr("fewer")),
                          AllOf(HasSubstr("host 'two'"), HasSubstr("/data"), HasSubstr("free some space")),
                          "no way"));
  EXPECT_EQ(report.code(), ExitCode::configuration) << "of the first problem";
}

TEST(HostReport, AWrongClockIsAWarningOnly) {
  HostsReport report = two_hosts();
  report.hosts[1].clock_offset_s = -90, report.hosts[1].clock_error_s = 0.01;
  report.judge();
  EXPECT_THAT(texts_of(report),
              ElementsAre(AllOf(HasSubstr("host 'two'"), HasSubstr("-90.0 s"), HasSubstr("timedatectl"))));
  EXPECT_EQ(report.code(), ExitCode::ok);
  EXPECT_THAT(table_of(report), HasSubstr("-90.00 s"));
}

TEST(HostReport, AnUncertainClockIsNotBlamed) {
  HostsReport report = two_hosts();
  report.hosts[1].clock_offset_s = 2, report.hosts[1].clock_error_s = 1.5;
  report.judge();
  EXPECT_THAT(texts_of(report), IsEmpty());
}

TEST(HostReport, AHostThatDoesNotAnswerHasNoNumbers) {
  HostsReport report = two_hosts();
  report.hosts[1] = {};
  report.hosts[1].name = "two";
  report.hosts[1].problems = {{ExitCode::unreachable, "host 'two': no answer"}};
  report.judge();
  EXPECT_EQ(report.code(), ExitCode::unreachable);
  EXPECT_THAT(table_of(report), HasSubstr("no answer"));
  const Json json = json_of(report);
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["hosts"][0]["memory_needed_bytes"], 1'000'000'000);
  EXPECT_FALSE(json["hosts"][1].contains("cores"));
  EXPECT_EQ(json["hosts"][1]["problems"][0]["code"], 69);
  EXPECT_TRUE(json["lines"][0]["problem"].is_null());
}

TEST(HostReport, NamesFromOtherMachinesAreMadeHarmless) {
  HostsReport report = two_hosts();
  report.hosts[0].release = "steelyard \x1b[31m";
  EXPECT_THAT(table_of(report), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace steelyard::host_report_test
