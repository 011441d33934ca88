#include "nn/cuda/products.h"

#include "nn/cuda/tiled_product.h"

namespace steelyard::nn::cuda {

struct Products::Impl {
  Stream& stream;
};

Products::Products(Stream& stream, Precision) : impl_(std::make_unique<Impl>(Impl{stream})) {}
Products::~Products() = default;

void Products::multiply(const Product& product) { tiled_product(impl_->stream, product); }

const char* Products::implementation() const { return "tiled"; }

}  // namespace steelyard::nn::cuda
