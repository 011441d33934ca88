// DataSet: random access to samples with labels or targets. To train on data of your own, implement it and
// add a row to a DataTable (below).
//
// All processes of a job must have the same samples under the same indices. Messages contain only positions
// of an epoch; each process maps them to sample indices by the same seeded permutation.
//
//   class Digits : public DataSet {
//     ...
//     void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
//       draw(index, into);  // 28 * 28 floats
//       labels[0] = static_cast<std::uint32_t>(index % 10);
//     }
//   };
//
// Normalise values to mean 0 and standard deviation 1, as the initialisation of the built-in models assumes.
// A simulation calls read() from several threads at once, and so does a worker on a GPU (its feed).
//
// Stability: declarations in the headers of this folder keep their meaning within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/hash.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steelyard {

class DataSet {
 public:
  virtual ~DataSet() = default;

  // Constant for the lifetime of the object.
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // samples
  [[nodiscard]] virtual nn::Shape shape() const = 0;     // of one sample
  [[nodiscard]] virtual std::uint32_t classes() const = 0;
  // Labels per sample: one, or one for each token of a text.
  [[nodiscard]] virtual std::uint32_t labels() const { return 1; }
  // Targets per sample: the numbers that a model predicts instead of a class, for the losses that take them
  // (nn::takes_targets). 0: samples have class labels. Otherwise classes() is the same number, labels() is 1,
  // and read() writes no label.
  [[nodiscard]] virtual std::uint32_t targets() const { return 0; }

  // Writes the shape().size() floats of sample `index` < size(), channels last, and its labels() labels, each
  // < classes(). Must be a pure function of the index, callable from several threads at once. An exception,
  // or a label that is not below classes(), ends the job with a message that names the sample. So validate
  // the data in the constructor where possible.
  virtual void read(std::uint64_t index, float* into, std::uint32_t* labels) const = 0;
  // Writes the targets() targets of sample `index` < size(): finite numbers. The same rules hold as for
  // read().
  virtual void read_targets(std::uint64_t /*index*/, float* /*into*/) const {}

  // A hint that these samples are read next, about in this order, so that a data set can prepare them on
  // threads of its own. Some may never be read, others are read without it. Must return soon; callable like
  // read().
  virtual void prepare(std::span<const std::uint64_t> /*indices*/) const {}

  // The file of a sample, for predictions; empty: it has none of its own.
  [[nodiscard]] virtual std::string name(std::uint64_t /*index*/) const { return {}; }
};

// How inputs were computed from raw values: (raw - mean) / deviation, where raw is byte / 255 for the bytes
// of a picture. Each vector has one entry for all values, or one per channel. Checkpoints store both vectors,
// so that other programs can prepare inputs for the model.
struct Normalization {
  std::vector<double> mean{0}, deviation{1};
};

// Augmentation of training pictures by random crops and flips, as usual for CIFAR (He et al., "Deep residual
// learning for image recognition" (2016), section 4.2).
//
//  crop n   pads the picture by n pixels of value `fill` (that of a black pixel) on each side and takes a
//           random window of the original size
//  flip     mirrors left and right with probability 1/2
//
// A pure function of (seed, epoch, position): every worker that computes a position gets the same sample.
// Crops and flips are drawn anew in each epoch. Test samples are never augmented.
struct Augmentation {
  std::uint32_t crop = 0;  // pixels, less than height and width; 0: none
  bool flip = false;
  std::vector<float> fill{};  // one value per channel; empty: zeros

  [[nodiscard]] bool any() const { return crop > 0 || flip; }
};

// Training and test data of a job. Both have the same shape, classes(), labels() and targets().
struct DataSets {
  std::shared_ptr<const DataSet> train, test;
  std::string name{};  // as in the job file; set by open_data()
  Normalization normalization{};
  // How targets were computed from numbers of the file: mean and deviation of each, 0 and 1 if they are as in
  // the file. Predictions are converted back. Empty lists: the samples have class labels.
  Normalization target_scale{{}, {}};
  // Names of the classes 0, 1, ... (or targets) and of the columns of a table, in UTF-8; empty: they have
  // none. Checkpoints store them, for predictions.
  std::vector<std::string> class_names{}, column_names{};
  Augmentation augmentation{};  // applied to training samples as they are read
};

// A row's function makes both sets.
using DataTable = Choices<DataSets(const Options& options)>;

// Returns two non-empty data sets of the same shape and classes; rows of `extra` are looked up first. Throws
// Failure with the name of the data set: (configuration) for unknown names, options and values, (io) for
// missing or damaged files, (failed) for exceptions of a program's own data set.
DataSets open_data(const std::string& name, const OptionTexts& options, const DataTable& extra = {});

}  // namespace steelyard
