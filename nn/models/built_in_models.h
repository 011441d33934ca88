// The built-in models, one factory each, as one would draw them. Names of layers are those of torchvision and
// of the papers' reference code, so that their weights fit.
#pragma once

#include <steelyard/model.h>

#include "core/options.h"

namespace steelyard::nn {

Model softmax_regression(Shape input, std::uint32_t classes, const Options& options);
Model svm(Shape input, std::uint32_t classes, const Options& options);
Model mlp(Shape input, std::uint32_t classes, const Options& options);
Model lenet5(Shape input, std::uint32_t classes, const Options& options);
Model cifarnet(Shape input, std::uint32_t classes, const Options& options);

Model resnet20(Shape input, std::uint32_t classes, const Options& options);
Model resnet32(Shape input, std::uint32_t classes, const Options& options);
Model resnet18(Shape input, std::uint32_t classes, const Options& options);
Model resnet101(Shape input, std::uint32_t classes, const Options& options);
Model densenet121(Shape input, std::uint32_t classes, const Options& options);
Model shufflenet_v2(Shape input, std::uint32_t classes, const Options& options);
Model efficientnet_b0(Shape input, std::uint32_t classes, const Options& options);
Model efficientnet_b1(Shape input, std::uint32_t classes, const Options& options);
Model inception_v3(Shape input, std::uint32_t classes, const Options& options);

Model vit(Shape input, std::uint32_t classes, const Options& options);
Model vit_b16(Shape input, std::uint32_t classes, const Options& options);
Model transformer(Shape input, std::uint32_t classes, const Options& options);
Model albert(Shape input, std::uint32_t classes, const Options& options);
Model gpt(Shape input, std::uint32_t classes, const Options& options);

}  // namespace steelyard::nn
