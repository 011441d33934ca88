#include "app/hosts/line_speed.h"

#include <gmock/gmock.h>

#include <optional>

#include "core/error.h"
#include "tests/support/complaint.h"

namespace steelyard::line_speed_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string token = "0123456789abcdef";

HostPort place_of(const LineEnd& end) { return {"127.0.0.1", std::to_string(end.port())}; }

TEST(LineSpeed, BothDirectionsAreMeasured) {
  const LineEnd end({"127.0.0.1", "0"}, token);
  const LineSpeed line = measure_line(place_of(end), token, true);
  EXPECT_GT(line.round_trip_s, 0);
  EXPECT_GT(line.there_bytes_s, 0);
  EXPECT_GT(line.back_bytes_s, 0);
}

TEST(LineSpeed, OneConnectionFollowsTheOther) {
  const LineEnd end({"127.0.0.1", "0"}, token);
  for (int i = 0; i < 3; ++i) {
    const LineSpeed line = measure_line(place_of(end), token, false);
    EXPECT_GT(line.round_trip_s, 0);
    EXPECT_EQ(line.there_bytes_s, 0) << "not asked for";
  }
}

TEST(LineSpeed, AnotherTokenIsNotServed) {
  const LineEnd end({"127.0.0.1", "0"}, token);
  EXPECT_THAT(complaint_of([&] { measure_line(place_of(end), "fedcba9876543210", false); }),
              HasSubstr("another program has this port"));
  EXPECT_NO_THROW(measure_line(place_of(end), token, false)) << "the next one is";
}

TEST(LineSpeed, APortThatIsInUseIsRefusedWithTheRemedy) {
  const LineEnd first({"127.0.0.1", "0"}, token);
  const std::string port = std::to_string(first.port());
  EXPECT_THAT(
      complaint_of([&] {
        LineEnd({"127.0.0.1", port}, token);
      }),
      AllOf(HasSubstr("cannot listen at 127.0.0.1:" + port), HasSubstr("ss -ltnp"), HasSubstr("port =")));
}

TEST(LineSpeed, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_THAT(complaint_of([&] {
                LineEnd({"192.0.2.1", "0"}, token);
              }),
              AllOf(HasSubstr("192.0.2.1"), HasSubstr("listen =")));
}

TEST(LineSpeed, AClosedPortIsExplained) {
  std::optional<LineEnd> end(std::in_place, HostPort{"127.0.0.1", "0"}, token);
  const HostPort place = place_of(*end);
  end.reset();
  EXPECT_THAT(complaint_of([&] { measure_line(place, token, false); }),
              AllOf(HasSubstr("refused"), HasSubstr("address =")));
}

TEST(LineSpeed, AnUnknownNameIsExplained) {
  EXPECT_THAT(complaint_of([&] {
                measure_line({"no-such-host.invalid", "7070"}, token, false);
              }),
              AllOf(HasSubstr("'no-such-host.invalid' cannot be looked up"), HasSubstr("/etc/hosts")));
}

}  // namespace
}  // namespace steelyard::line_speed_test
