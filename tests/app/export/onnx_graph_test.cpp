#include "app/export/onnx_graph.h"

#include <gmock/gmock.h>

namespace steelyard::onnx_graph_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The examples of the description of the wire format.
TEST(Protobuf, WritesTheWireFormat) {
  EXPECT_EQ(Protobuf().number(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(Protobuf().text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(Protobuf().message(3, Protobuf().number(1, 150)).bytes(), "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(Protobuf().real(1, 1).bytes(), std::string("\x0d\0\0\x80\x3f", 5));
  EXPECT_EQ(Protobuf().number(1, -1).bytes(), "\x08" + std::string(9, '\xff') + "\x01");
  EXPECT_EQ(Protobuf().number(20, 1).bytes(), "\xa0\x01\x01") << "fields above 15 take two bytes";
}

TEST(OnnxGraph, ANodeHasItsInputsOutputsAndAttributes) {
  OnnxGraph graph;
  graph.begin_layer("conv1");
  EXPECT_EQ(graph.node("Relu", {"input"}), "conv1/0");
  const std::string file = graph.file("name", {});
  const std::string node =
      Protobuf().text(1, "input").text(2, "conv1/0").text(3, "conv1/0").text(4, "Relu").bytes();
  EXPECT_THAT(file, HasSubstr(Protobuf().text(1, node).bytes()));
  graph.node("Transpose", {"conv1/0"}, {{"perm", OnnxGraph::Integers{1, 0}}});
  const Protobuf order = Protobuf().text(1, "perm").number(8, 1).number(8, 0).number(20, 7);
  EXPECT_THAT(graph.file("name", {}), HasSubstr(Protobuf().message(5, order).bytes()));
}

TEST(OnnxGraph, AParameterIsStoredOnce) {
  OnnxGraph graph;
  const std::vector<float> values{1, 2};
  EXPECT_EQ(graph.parameter("fc.weight", {2}, values), "fc.weight");
  const std::size_t before = graph.file("name", {}).size();
  EXPECT_EQ(graph.parameter("fc.weight", {2}, values), "fc.weight");
  EXPECT_EQ(graph.file("name", {}).size(), before);
}

TEST(OnnxGraph, MetadataAreTexts) {
  const OnnxGraph graph;
  EXPECT_THAT(graph.file("name", {{"classes", "[]"}}),
              HasSubstr(Protobuf().message(14, Protobuf().text(1, "classes").text(2, "[]")).bytes()));
  EXPECT_THAT(graph.file("name", {}), Not(HasSubstr("classes")));
}

}  // namespace
}  // namespace steelyard::onnx_graph_test
