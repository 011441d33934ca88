// The one table of built-in data sets, by the name that a job file uses. A user's own go in a table of the
// same kind, which open_data() asks first.
//
//  fashion-mnist  60,000 + 10,000 pictures of clothes, 28 x 28 grey, ten classes (Xiao et al. 2017)
//                 dir = /usr/share/datasets/fashion-mnist: the four IDX files
//  idx            any four IDX files (worker/compute/idx.h)
//                 dir: with the file names of MNIST, gzipped (.gz) or not; or each by its own option:
//                 train_images, train_labels, test_images, test_labels
//                 classes: the highest label of the training set + 1, unless given
//  synthetic      made as needed (worker/compute/synthetic.h)
//                 train = 10000, test = 1000: samples; classes = 10; height = 28, width = 28, channels = 1;
//                 noise = 1; seed = 1
#pragma once

#include <functional>
#include <map>
#include <string>

#include "worker/compute/data_set.h"

namespace steelyard {

using DataOptions = std::map<std::string, std::string>;
using DataTable = std::map<std::string, std::function<DataSets(const DataOptions&)>>;

// A row makes both sets from the options of the job file. It checks what it is given: options that it does
// not know are mistakes of spelling, and are refused rather than ignored.
const DataTable& built_in_data_sets();

// Throws Failure: configuration for names, options and values that make no sense, and io for files that are
// not there or damaged. The result is complete, not empty, and of one shape with the same classes.
DataSets open_data(const std::string& name, const DataOptions& options, const DataTable& extra = {});

}  // namespace steelyard
