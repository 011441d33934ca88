// Convolutions with 3 x 3 kernels and stride 1 by Winograd's method (Lavin and Gray 2016, "Fast Algorithms
// for Convolutional Neural Networks"): the output is cut into tiles of 4 x 4 pixels, and each needs 36
// products for a pair of channels in place of 144.
//
//   forward:          y = A^T ((G w G^T) * (B^T x B)) A        * is elementwise, and summed over inputs
//   gradient of w:    dw = G^T ((A dy A^T) * (B^T x B)) G      summed over tiles
//   gradient of x:    forward with the kernels turned by 180 degrees, and inputs and outputs exchanged
//
// Here x is a window of 6 x 6 pixels, y a tile of 4 x 4, w a kernel. A, B and G follow from six points at
// which polynomials are evaluated (Toom and Cook). The usual points 0, +-1, +-2 and infinity have 4 to 8
// times the rounding error of a direct sum. The points here, 0, +-5/8, +-3/2 and infinity, have 2 to 3 times
// as much.
//
// The 36 numbers of a window, tile or kernel are in planes: number p of all tiles of a block and all channels
// is a matrix of tiles x channels, that of all kernels a matrix of inputs x outputs. So the elementwise
// products, summed, are 36 products of matrices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::winograd {

inline constexpr std::size_t kernel = 3, tile = 4, window = tile + kernel - 1, planes = window * window;

// Some tiles of a micro-batch of pictures in the order of samples, counted through rows, columns and samples.
struct Tiles {
  std::size_t height, width, channels;  // of a picture
  std::size_t rows, columns;            // tiles of a picture
  std::size_t begin, count;
};
// Channels [begin, end) of each pixel, in multiples of 16.
struct Channels {
  std::size_t begin, end;
};
// The kernels from some channels of the input to some of the output.
struct Pairs {
  std::size_t inputs;  // all
  Channels from, to;
};
// 36 matrices with rows as long as there are channels, each `apart` floats behind the former.
template <class Float>
struct Planes {
  Float* data;
  std::size_t apart;
};

// The product of a rows x depth and a depth x columns matrix.
struct Extent {
  std::size_t rows, columns, depth;
};

// Transforms of pictures of T, float or Bf16Bits.
template <class T>
struct PictureTable {
  // B^T x B of windows that begin `padding` pixels left of and above their tiles; zero outside the picture.
  void (*windows)(const Tiles&, std::size_t padding, const T* pictures, Planes<float> to);
  // A^T m A, plus the bias unless null, into the pixels of the tiles that are in the picture.
  void (*tiles)(const Tiles&, Channels, Planes<const float> from, const float* bias, T* pictures);
  // A dy A^T; zero outside the picture.
  void (*tile_gradients)(const Tiles&, Channels, const T* pictures, Planes<float> to);
};

// Weights are [output][input][row][column], and `inputs` and `outputs` multiples of 16.
struct Table {
  // G w G^T, [input][output]; `turned`: of kernels turned by 180 degrees, [output][input].
  void (*kernels)(const Pairs&, bool turned, const float* weights, Planes<float> to);
  // G^T u G, written or added to the gradient of these weights.
  void (*kernel_gradients)(const Pairs&, Planes<const float> from, bool add, float* weights);
  // c = a b in each plane, or += with `add`; a is rows x depth, or `turned` depth x rows. Fast if b fits into
  // the first cache.
  void (*products)(const Extent&, bool turned, bool add, Planes<const float> a, Planes<const float> b,
                   Planes<float> c);
};

STEELYARD_LEVELED(PictureTable<float>, pictures)
STEELYARD_LEVELED(PictureTable<Bf16Bits>, pictures_bf16)
STEELYARD_LEVELED(Table, table)

}  // namespace steelyard::nn::winograd
