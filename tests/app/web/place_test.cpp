// Addresses of pages, as users write them.
#include "app/web/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/complaint.h"

namespace steelyard::place_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string place(const std::string& text) {
  const HostPort it = web_place(text);
  return with_port(it.host, it.port);
}

TEST(WebPlace, WithoutAHostOnlyThisMachineMayRead) {
  EXPECT_EQ(place(":7080"), "127.0.0.1:7080");
  EXPECT_EQ(place("7080"), "127.0.0.1:7080");
  EXPECT_EQ(place(":0"), "127.0.0.1:0");
}

TEST(WebPlace, AccessForOthersMustBeExplicit) {
  EXPECT_EQ(place("0.0.0.0:7080"), "0.0.0.0:7080");
  EXPECT_EQ(place("box:80"), "box:80");
  EXPECT_EQ(place("[::1]:80"), "[::1]:80");
  EXPECT_THAT(complaint_of([] { web_place("*:7080"); }),
              AllOf(HasSubstr("needs an explicit address"), HasSubstr("0.0.0.0:7080"),
                    HasSubstr(":7080 for this machine alone")));
}

TEST(WebPlace, InvalidAddressesAreRefused) {
  for (const char* bad : {"", ":", "box", "box:", ":70800", ":x", "::1:80", "box:-1", "box:1 "})
    EXPECT_THROW(web_place(bad), Failure) << bad;
}

TEST(WebPlace, TheUrlOfABrowserIsAccepted) {
  EXPECT_EQ(asked_place("http://127.0.0.1:7080/").port, "7080");
  for (const char* good :
       {"http://127.0.0.1:7080/", "http://box:7080", "127.0.0.1:7080", ":7080", "[::1]:80"})
    EXPECT_TRUE(is_web_place(good)) << good;
  for (const char* bad : {"runs/job-1", "runs/job:1", "job-1", "", "/tmp:80", "C:", "7080"})
    EXPECT_FALSE(is_web_place(bad)) << bad;
}

}  // namespace
}  // namespace steelyard::place_test
