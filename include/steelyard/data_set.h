// DataSet: labelled samples by number. What a user implements to train on data of their own, and adds to a
// DataTable (below).
//
// All processes of a job see the same data set under the same numbers: a position of an epoch is turned into
// a sample number by a seeded permutation, and nothing else about samples is ever sent.
//
//   class Digits : public DataSet {
//     ...
//     void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
//       draw(index, into);  // 28 * 28 floats
//       labels[0] = static_cast<std::uint32_t>(index % 10);
//     }
//   };
//
// Values are best kept near mean 0 and deviation 1, which is what the built-in models are initialised for.
// Calls come from the feeding thread of each worker, in a simulation from several at once.
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/hash.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace steelyard {

class DataSet {
 public:
  virtual ~DataSet() = default;

  // Constant over the life of the object.
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // samples
  [[nodiscard]] virtual nn::Shape shape() const = 0;     // of each
  [[nodiscard]] virtual std::uint32_t classes() const = 0;
  // Of each sample: one, or one for each place of a text.
  [[nodiscard]] virtual std::uint32_t labels() const { return 1; }

  // Writes the shape().size() floats of sample `index` < size(), channels last, and its labels() labels, each
  // < classes(). A pure function of the index, from any thread at any time. What can be wrong with data is
  // best found when the data set is made: whatever this throws, and a label that is not below classes(), ends
  // the job with a message that names the sample.
  virtual void read(std::uint64_t index, float* into, std::uint32_t* labels) const = 0;
};

// How inputs were made of raw values: (raw - mean) / deviation, where a byte of a picture is byte / 255. One
// number of each for all values, or one for each channel. Checkpoints keep them, so that others can feed the
// model the same.
struct Normalization {
  std::vector<double> mean{0}, deviation{1};
};

// Augmentation: training pictures, shifted and mirrored at random, as is usual for CIFAR (He et al., "Deep
// residual learning for image recognition" (2016), section 4.2).
//
//  crop n   the picture is seen through a window of its own size, shifted by up to n pixels each way; what is
//           beyond its border is `fill` (the value of a black pixel)
//  flip     left and right are exchanged in one half of the pictures
//
// A pure function of (seed, epoch, position): whichever worker computes a position, and however often, makes
// the same sample of it. Each epoch draws anew. Test samples are never augmented.
struct Augmentation {
  std::uint32_t crop = 0;  // pixels, at most the sides of the picture; 0: none
  bool flip = false;
  std::vector<float> fill{};  // of each channel; empty: zeros

  [[nodiscard]] bool any() const { return crop > 0 || flip; }
};

// What one job trains and evaluates on: of one shape, with the same classes and as many labels.
struct DataSets {
  std::shared_ptr<const DataSet> train, test;
  std::string name{};  // as the job calls it; open_data() fills it in
  Normalization normalization{};
  Augmentation augmentation{};  // of training samples, as they are fed
};

// A row makes both sets.
using DataTable = Choices<DataSets(const Options& options)>;

// Throws Failure: configuration for names, options and values that make no sense, io for files that are not
// there or damaged, failed for what a user's own throws; the message names the data set. The result is
// complete, not empty, and of one shape with the same classes.
DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra = {});

}  // namespace steelyard
