#include "nn/cuda/products.h"

#include <cublasLt.h>

#include <map>
#include <string>
#include <type_traits>

#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/device/native.h"
#include "nn/cuda/product_key.h"

namespace steelyard::nn::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  raise(status == CUBLAS_STATUS_ALLOC_FAILED ? Trouble::memory : Trouble::other,
        std::string("cuBLASLt cannot ") + what + ": " + cublasLtGetStatusString(status));
}

// cuBLASLt needs this much for its fastest kernels on Hopper.
constexpr std::uint64_t workspace_bytes = 32 << 20;

template <class T>
constexpr cudaDataType_t cuda_type = CUDA_R_32F;
template <>
constexpr cudaDataType_t cuda_type<Bf16> = CUDA_R_16BF;

// For factors in float32: the library rounds them. Factors in bfloat16 need no rounding.
cublasComputeType_t compute_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

// cuBLASLt is column-major: a row-major matrix is its transpose in column-major order. So it computes the
// transposed product, with the factors exchanged.
struct ProductWay {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool bias = false;  // added by cuBLASLt

  ProductWay() = default;
  ~ProductWay() {
    for (cublasLtMatrixLayout_t matrix : {result, second, first}) {
      if (matrix != nullptr) cublasLtMatrixLayoutDestroy(matrix);
    }
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
  }
  ProductWay(const ProductWay&) = delete;
  ProductWay& operator=(const ProductWay&) = delete;
};

// Rows and columns as stored in memory.
template <class T>
cublasLtMatrixLayout_t layout(std::uint32_t rows, std::uint32_t columns, std::uint32_t row) {
  cublasLtMatrixLayout_t made = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&made, cuda_type<T>, columns, rows, row), "describe a matrix");
  return made;
}

}  // namespace

struct Products::Impl {
  Stream& stream;
  Precision precision;
  cublasLtHandle_t handle = nullptr;
  DeviceMemory workspace{workspace_bytes};
  std::map<ProductKey, ProductWay> ways;

  Impl(Stream& on, Precision in) : stream(on), precision(in) {
    check_cublas(cublasLtCreate(&handle), "start");
  }
  ~Impl() {
    ways.clear();
    cublasLtDestroy(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  template <class Factor, class Result>
  void multiply(const Product<Factor, Result>& product);

  // `p` must have all row distances filled in.
  template <class Factor, class Result>
  ProductWay& way(const Product<Factor, Result>& p) {
    const ProductKey key(p);
    if (const auto known = ways.find(key); known != ways.end()) return known->second;
    try {
      ProductWay& way = ways[key];
      describe(p, key, way);
      return way;
    } catch (...) {
      ways.erase(key);  // half described
      throw;
    }
  }

  template <class Factor, class Result>
  void describe(const Product<Factor, Result>& p, const ProductKey& key, ProductWay& way) {
    const bool rounds = std::is_same_v<Factor, float>;
    check_cublas(cublasLtMatmulDescCreate(&way.operation,
                                          rounds ? compute_type(precision) : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "describe a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulDescSetAttribute(way.operation, attribute, &value, sizeof(value)),
                   "describe a product");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    way.bias = key.bias == Bias::library;
    if (way.bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type<Result>);
    }
    way.first = p.b_transposed ? layout<Factor>(p.columns, p.inner, p.b_row)
                               : layout<Factor>(p.inner, p.columns, p.b_row);
    way.second =
        p.a_transposed ? layout<Factor>(p.inner, p.rows, p.a_row) : layout<Factor>(p.rows, p.inner, p.a_row);
    way.result = layout<Result>(p.rows, p.columns, p.c_row);
    cublasLtMatmulPreference_t wishes = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&wishes), "set preferences");
    const auto wish = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(wishes, attribute, &value, sizeof(value)),
                   "set preferences");
    };
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.b_at);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.a_at);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.c_at);
    wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.c_at);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, way.operation, way.first, way.second, way.result, way.result, wishes, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(wishes);
    check_cublas(found > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "find an algorithm for a product");
    way.algorithm = result.algo;
  }
};

Products::Products(Stream& stream, Precision precision) : impl_(std::make_unique<Impl>(stream, precision)) {}
Products::~Products() = default;

template <class Factor, class Result>
void Products::Impl::multiply(const Product<Factor, Result>& product) {
  const Product<Factor, Result> p = product.with_rows();
  ProductWay& way = this->way(p);
  if (way.bias) {
    check_cublas(cublasLtMatmulDescSetAttribute(way.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias,
                                                sizeof(p.bias)),
                 "take a bias");
  }
  const float beta = p.add ? 1 : 0;
  check_cublas(cublasLtMatmul(handle, way.operation, &p.factor, p.b, way.first, p.a, way.second, &beta, p.c,
                              way.result, p.c, way.result, &way.algorithm, workspace.data(), workspace_bytes,
                              native(stream)),
               "multiply");
  if (p.bias != nullptr && !way.bias) add_bias(stream, p.bias, p.rows, p.columns, p.c_row, p.c);
}

void Products::multiply(const Product<float>& product) { impl_->multiply(product); }
void Products::multiply(const Product<Bf16>& product) { impl_->multiply(product); }
void Products::multiply(const Product<Bf16, float>& product) { impl_->multiply(product); }

const char* Products::implementation() const { return "cublaslt"; }

}  // namespace steelyard::nn::cuda
